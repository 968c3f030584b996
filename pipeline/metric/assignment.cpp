#include "pipeline/metric/tracks.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace mpm::pipeline {

namespace {

/// Assigns rows to columns at the least cost: one row after another, along the cheapest path of reassignments
/// (Jonker and Volgenant; Crouse). There must be at least as many columns as rows.
class Paths {
public:
    explicit Paths(const cv::Mat_<double>& costs)
        : m_costs(costs),
          m_rowPrice(costs.rows),
          m_columnPrice(costs.cols),
          m_length(costs.cols),
          m_from(costs.cols, -1),
          m_columnOf(costs.rows, -1),
          m_rowOf(costs.cols, -1) {
        for (int row = 0; row < costs.rows; ++row)
            assign(row);
    }
    const std::vector<int>& columnOf() const { return m_columnOf; }

private:
    void assign(int start) {
        std::fill(m_length.begin(), m_length.end(), std::numeric_limits<double>::infinity());
        std::vector<int> rows, columns;  // reached so far
        // Lists columns in reverse, as SciPy does. If several free columns are equally near, reach() chooses
        // the last in this list, so the order decides.
        std::vector<int> open(m_costs.cols);
        std::iota(open.rbegin(), open.rend(), 0);
        int row = start, free = -1;
        double shortest = 0;
        while (free < 0) {
            rows.push_back(row);
            const size_t next = reach(row, shortest, open);
            const int column = open[next];
            shortest = m_length[column];
            columns.push_back(column);
            open[next] = open.back();
            open.pop_back();
            if (m_rowOf[column] < 0)
                free = column;
            else
                row = m_rowOf[column];
        }
        m_rowPrice[start] += shortest;
        for (size_t i = 1; i < rows.size(); ++i)
            m_rowPrice[rows[i]] += shortest - m_length[m_columnOf[rows[i]]];
        for (const int column : columns)
            m_columnPrice[column] -= shortest - m_length[column];
        for (int column = free; column >= 0;) {
            const int taker = m_from[column];
            m_rowOf[column] = taker;
            std::swap(m_columnOf[taker], column);
            if (taker == start) break;
        }
    }
    /// Updates the paths, and returns the index in `open` of the column with the shortest path.
    size_t reach(int row, double before, const std::vector<int>& open) {
        size_t nearest = 0;
        double lowest = std::numeric_limits<double>::infinity();
        for (size_t i = 0; i < open.size(); ++i) {
            const int column = open[i];
            const double length = before + m_costs(row, column) - m_rowPrice[row] - m_columnPrice[column];
            if (length < m_length[column]) {
                m_length[column] = length;
                m_from[column] = row;
            }
            if (m_length[column] < lowest || (m_length[column] == lowest && m_rowOf[column] < 0)) {
                lowest = m_length[column];
                nearest = i;
            }
        }
        return nearest;
    }

    const cv::Mat_<double>& m_costs;
    std::vector<double> m_rowPrice, m_columnPrice;
    std::vector<double> m_length;  ///< length of the cheapest path to each column
    std::vector<int> m_from;       ///< the row before each column on its cheapest path
    std::vector<int> m_columnOf, m_rowOf;
};

}  // namespace

std::vector<std::pair<int, int>> leastAssignment(const cv::Mat_<double>& costs) {
    std::vector<std::pair<int, int>> pairs;
    if (costs.empty()) return pairs;
    const bool turned = costs.cols < costs.rows;
    const cv::Mat_<double> wide = turned ? cv::Mat_<double>(costs.t()) : costs;
    const Paths paths(wide);
    for (int row = 0; row < wide.rows; ++row) {
        const int column = paths.columnOf()[row];
        pairs.emplace_back(turned ? column : row, turned ? row : column);
    }
    std::sort(pairs.begin(), pairs.end());
    return pairs;
}

}  // namespace mpm::pipeline

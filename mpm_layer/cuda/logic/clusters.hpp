// From every token's nearest to clusters: their representatives, and the running sums that number them.
#pragma once

#include "mpm_layer/cuda/logic/host_device.hpp"
#include "mpm_layer/cuda/logic/order.hpp"

namespace mpm::cuda {

/// The other member of token i's pair, -1 if i is alone. `best` and the indices in it count from the
/// image's first token.
MPM_HOST_DEVICE inline int partnerOf(const Candidate* best, int i) {
    const int nearest = indexOf(best[i]);
    return nearest >= 0 && indexOf(best[nearest]) == i ? nearest : -1;
}

/// A token's share of the running sums: a cluster and its members if it represents one, else nothing. Both
/// sums are in the same integer, members in the lower half.
using ClusterSum = unsigned long long;

MPM_HOST_DEVICE inline ClusterSum clusterTerm(int token, int partner) {
    if (partner >= 0 && partner < token) return 0;
    return ClusterSum{1} << 32 | (partner < 0 ? 1u : 2u);
}

MPM_HOST_DEVICE inline int clustersIn(ClusterSum sum) {
    return static_cast<int>(sum >> 32);
}

MPM_HOST_DEVICE inline int membersIn(ClusterSum sum) {
    return static_cast<int>(sum & 0xffffffffu);
}

/// Clusters of an image: ids by token, members of cluster c at members[starts[c]..starts[c+1]), ascending.
struct ClusterLists {
    int* ids;
    int* starts;
    int* members;
};

/// Places a token whose predecessors sum to `before`. The id of a token that its pair does not keep is
/// written by the representative.
MPM_HOST_DEVICE inline void placeToken(const ClusterLists& lists, int token, int partner, ClusterSum before) {
    if (partner >= 0 && partner < token) return;
    const int cluster = clustersIn(before), start = membersIn(before);
    lists.ids[token] = cluster;
    lists.starts[cluster] = start;
    lists.members[start] = token;
    if (partner < 0) return;
    lists.ids[partner] = cluster;
    lists.members[start + 1] = partner;
}

}  // namespace mpm::cuda

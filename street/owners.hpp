// The object that each pixel of a frame shows, and the box of each object.
#pragma once

#include "street/render/canvas.hpp"
#include "street/street.hpp"

namespace mpm::street {

class Owners {
public:
    explicit Owners(cv::Size frame) : m_owner(frame, CV_32S, cv::Scalar(-1)) {}

    /// Actors from far to near. A pixel is the actor's if it covers half of it, as in the labels.
    /// inBackdrop: the depth of the backdrop is the actor's own.
    void add(const Sprite& sprite, const Backdrop& backdrop, const Actor& actor, bool inBackdrop);

    std::vector<StreetObject> objects() const;

    Owners copy() const;

private:
    cv::Mat m_owner;  ///< CV_32S: an index of m_objects, -1 for the backdrop
    std::vector<StreetObject> m_objects;
    std::vector<int> m_pixels;  ///< of each object, hidden ones included
};

}  // namespace mpm::street

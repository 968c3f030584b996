# mpm_onnx_proto: the protobuf classes of ONNX. Debian 12 and 13 have different names for their target.
find_package(ONNX CONFIG REQUIRED)
find_package(Protobuf REQUIRED)

add_library(mpm_onnx_proto INTERFACE)
if(TARGET ONNX::onnx_proto)
  target_link_libraries(mpm_onnx_proto INTERFACE ONNX::onnx_proto protobuf::libprotobuf)
else()
  target_link_libraries(mpm_onnx_proto INTERFACE onnx_proto protobuf::libprotobuf)
endif()

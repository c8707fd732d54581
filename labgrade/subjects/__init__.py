"""What tasks are about: models, networks and ONNX files, and the files that students receive of them."""

// Waits until the host writes something to go. (A software device ends a loop after some rounds.)
#version 460

layout(local_size_x = 1) in;
layout(binding = 0) coherent volatile buffer Go { uint go; };

void main() {
	while (go == 0) {
	}
}

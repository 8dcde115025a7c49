/* In place of NVIDIA's, which does not go with the other headers of this folder. */

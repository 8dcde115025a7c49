/* The functions that the two translation units of vector_add share. */
#ifndef VECTOR_ADD_H
#define VECTOR_ADD_H

/* Multiplies every element on the device (vector_add_scale.cu). */
void scale(float *device, int count, float by);
/* The number of elements that its kernel has multiplied. */
unsigned long long scaled_elements();

#endif

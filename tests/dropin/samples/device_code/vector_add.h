/* What the two translation units of vector_add offer each other. */
#ifndef VECTOR_ADD_H
#define VECTOR_ADD_H

/* vector_add_scale.cu: multiplies every element, on the device. */
void scale(float *device, int count, float by);
/* How many elements its kernel has multiplied. */
unsigned long long scaled_elements();

#endif

#undef std
#undef __atomic_load
#undef __atomic_compare_exchange
#undef _mm_pause

/* prog_dyn - dynamically linked target for the ld.so and LD_PRELOAD probes: exit 42 */
int main(void) { return 42; }

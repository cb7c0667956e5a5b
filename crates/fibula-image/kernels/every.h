/* The list of kernels: FIBULA_KERNEL(name, address type, answer type), one line each. */
#define FIBULA_EACH_WIDTH(name, address) \
    FIBULA_KERNEL(name, address, fibula_u8, 8) \
    FIBULA_KERNEL(name, address, fibula_u16, 16) \
    FIBULA_KERNEL(name, address, fibula_u32, 32)

FIBULA_EACH_WIDTH(dir24_8, fibula_u32)
FIBULA_EACH_WIDTH(sail_l, fibula_u32)
FIBULA_EACH_WIDTH(sail_l_printed, fibula_u32)
FIBULA_EACH_WIDTH(mosaic, fibula_u32)
FIBULA_EACH_WIDTH(mosaic6, struct fibula_ipv6)
FIBULA_EACH_WIDTH(bloom, fibula_u32)

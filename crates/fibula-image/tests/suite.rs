//! The suite, stamped on the kernels' bodies as the host compiler makes them.

fibula_suite::suite!(fibula_image::for_each_layout, fibula_image::ENGINES);

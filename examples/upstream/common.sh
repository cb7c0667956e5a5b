# What the `run` scripts share: each builds a program without its libfibula.diff (`before`) and with
# it (`after`), in the folder $1. $here is the folder of the script.
fetch() { # PATH SHA256
    archive=$(basename "$1")
    [ -e "$archive" ] || curl -fsSO "http://deb.debian.org/debian/pool/main/$1"
    echo "$2  $archive" | sha256sum -c
}

unpack() { # FOLDER
    mkdir -p "$1" && tar -xf "$archive" -C "$1" --strip-components=1
    [ "$1" = before ] || patch -d "$1" -p1 < "$here/libfibula.diff"
}

# Calls `build FOLDER FLAGS LIBRARIES` of the script for what is not built yet.
build_both() {
    if [ ! -e before/built ]; then
        build before '' ''
        touch before/built
    fi
    if [ ! -e after/built ]; then
        build after "-DWITH_FIBULA $(pkg-config --cflags fibula)" "$(pkg-config --libs fibula)"
        touch after/built
    fi
}

# Makes a full table of each family and a million addresses.
make_tables() {
    for family in ipv4 ipv6; do
        fibula table gen internet --family $family > $family.table
        fibula trace gen prefix -t $family.table -n 1000000 > $family.addresses
    done
}

# Lets `FOLDER/PROGRAM TABLE ADDRESSES` print times and answers of both; an error if these differ.
compare() { # PROGRAM
    for family in ipv4 ipv6; do
        for built in before after; do
            "$built/$1" $family $family.addresses > $family.$built
            echo "$family $built: $(cat $family.$built)"
        done
        [ "$(sed 's/.*, //' $family.before)" = "$(sed 's/.*, //' $family.after)" ]
    done
}

# Other scripts source this file. pack BUILD FOLDER [COMPONENT;...] writes the Debian packages of BUILD, and a
# bill of materials, to FOLDER. All files get the time of the last entry in Debian's changelog, so that the
# same sources give the same bytes.
pack() {
    mkdir -p "$2"
    (
        cd "$2"
        umask 022  # the umask determines the mode of some files in a package
        SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l "$tree/assets/debian/changelog" -S Timestamp)
        export SOURCE_DATE_EPOCH
        cpack -G DEB -B "$PWD" --config "$1/CPackConfig.cmake" ${3:+-D "CPACK_COMPONENTS_ALL=$3"} >log 2>&1 ||
            { echo "pack: cpack: $(tail -n 20 log)" >&2 && exit 1; }
        rm -rf _CPack_Packages log
        /usr/bin/python3 "$tree/cmake/sbom.py" .
    )
}

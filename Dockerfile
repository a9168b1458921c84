# Both stages use the same Debian release, so that the binary finds the C library that it was linked against.
FROM rust:1.95-trixie AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked --bin evenkeel

# This image has no shell and no package manager. The `cc` variant has glibc and libgcc, which the standard library needs.
FROM gcr.io/distroless/cc-debian13:nonroot
COPY --from=build /src/target/release/evenkeel /usr/local/bin/evenkeel
# The path that descheduler's manifests start.
COPY --from=build /src/target/release/evenkeel /bin/descheduler
# A number, because the kubelet cannot tell whether a named user is root.
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/evenkeel"]

# Both stages are of the same Debian release, so that the C library is the one that was linked against.
FROM rust:1.95-trixie AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked --bin evenkeel

# No shell and no package manager; cc rather than static, for the standard library wants glibc and libgcc.
FROM gcr.io/distroless/cc-debian13:nonroot
COPY --from=build /src/target/release/evenkeel /usr/local/bin/evenkeel
# Where manifests of descheduler look for it.
COPY --from=build /src/target/release/evenkeel /bin/descheduler
# A number, for the kubelet cannot tell whether a name is root.
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/evenkeel"]

from spack_repo.builtin.build_systems.meson import MesonPackage

from spack.package import *


class Cushim(MesonPackage):
    """Loads the CUDA driver and runtime libraries on first use instead of linking them, with C++20 wrappers."""

    homepage = "@HOMEPAGE@"
    url = "@ARCHIVE_URL@"

    maintainers("@MAINTAINER@")
    license("MIT", checked_by="@MAINTAINER@")

    version("@VERSION@", sha256="@SHA256@")

    variant("tools", default=True, description="Build cushim-info")
    variant("simulator", default=False, description="Build the simulated CUDA driver and runtime")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("python@3.8:", type="build")
    # Only its headers are used; programs that use cushim need them, too.
    depends_on("cuda@11.4:")

    conflicts("%gcc@:9", msg="cushim needs C++20")
    conflicts("%clang@:10", msg="cushim needs C++20")

    @staticmethod
    def _state(enabled):
        return "enabled" if enabled else "disabled"

    def meson_args(self):
        return [
            "-Dtests=disabled",
            "-Dexamples=disabled",
            f"-Dtools={self._state(self.spec.satisfies('+tools'))}",
            f"-Dsimulator={self._state(self.spec.satisfies('+simulator'))}",
            f"-Dheaders_dir={self.spec['cuda'].prefix.include}",
        ]

    def test_version(self):
        """cushim-info runs on a machine without a GPU"""
        if self.spec.satisfies("~tools"):
            raise SkipTest("cushim-info is not installed")
        info = which(self.prefix.bin.join("cushim-info"))
        assert f"cushim-info {self.version}" in info("--version", output=str.split)

// Command release builds what users install, into one directory, without a container engine:
//
//	muster_V_OS_ARCH.tar.gz         the static program with licences, completions and a configuration to begin with
//	muster_V_OS_ARCH.spdx.json      the bill of materials of that program
//	muster_V_ARCH.deb, .rpm         the same for Linux, with a service of systemd
//	muster_V_image.tar              an image for all Linux platforms, as an OCI layout
//	muster-lambda_V_linux_ARCH.zip  the functions of AWS Lambda, with licences and a bill of materials
//	SHA256SUMS                      the checksums of the files above
//
// make release runs it. Its steps are in files of their own, in the order of [release]:
//
//	program.go   builds the program for a platform and reads what the linker recorded about it
//	licences.go  finds the licences of the linked modules
//	sbom.go      writes the bill of materials
//	stage.go     collects the files that archives, packages and the image share
//	archive.go   writes tar.gz
//	packages.go  writes .deb and .rpm
//	image.go     writes the image
//	function.go  builds the functions of Lambda and writes their zip
//	sums.go      writes the checksums, and clears what an earlier run left
//
// Two rules shape it. The version, the commit and the time come from the built program alone, because the Go linker
// records them; no other place can disagree. And the same commit gives the same bytes: no clock, host name, user or
// path of this machine is written, and all times are that of the commit. The version of Go is part of the input.
//
// The texts that are installed are in the folder files: the unit, the configuration, and the scripts of the packages.
package main

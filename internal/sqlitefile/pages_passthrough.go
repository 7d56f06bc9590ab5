package sqlitefile

import (
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// The functions below only call those of the file system below. SQLite passes them addresses in C memory.

func deleteFile(tls *libc.TLS, vfs, name uintptr, syncDirectory int32) int32 {
	base := at[pagesState](at[sqlite3.Tsqlite3_vfs](vfs).FpAppData).base
	return function[func(*libc.TLS, uintptr, uintptr, int32) int32](at[sqlite3.Tsqlite3_vfs](base).FxDelete)(tls, base,
		name, syncDirectory)
}

func accessFile(tls *libc.TLS, vfs, name uintptr, flags int32, result uintptr) int32 {
	base := at[pagesState](at[sqlite3.Tsqlite3_vfs](vfs).FpAppData).base
	return function[func(*libc.TLS, uintptr, uintptr, int32,
		uintptr) int32](at[sqlite3.Tsqlite3_vfs](base).FxAccess)(tls, base, name, flags, result)
}

func fullPathname(tls *libc.TLS, vfs, name uintptr, n int32, out uintptr) int32 {
	base := at[pagesState](at[sqlite3.Tsqlite3_vfs](vfs).FpAppData).base
	return function[func(*libc.TLS, uintptr, uintptr, int32,
		uintptr) int32](at[sqlite3.Tsqlite3_vfs](base).FxFullPathname)(tls, base, name, n, out)
}

func syncFile(tls *libc.TLS, file uintptr, flags int32) int32 {
	inner, m := below(file)
	return function[func(*libc.TLS, uintptr, int32) int32](m.FxSync)(tls, inner, flags)
}

func fileSize(tls *libc.TLS, file, size uintptr) int32 {
	inner, m := below(file)
	return function[func(*libc.TLS, uintptr, uintptr) int32](m.FxFileSize)(tls, inner, size)
}

func lockFile(tls *libc.TLS, file uintptr, level int32) int32 {
	inner, m := below(file)
	return function[func(*libc.TLS, uintptr, int32) int32](m.FxLock)(tls, inner, level)
}

func unlockFile(tls *libc.TLS, file uintptr, level int32) int32 {
	inner, m := below(file)
	return function[func(*libc.TLS, uintptr, int32) int32](m.FxUnlock)(tls, inner, level)
}

func checkReservedLock(tls *libc.TLS, file, result uintptr) int32 {
	inner, m := below(file)
	return function[func(*libc.TLS, uintptr, uintptr) int32](m.FxCheckReservedLock)(tls, inner, result)
}

func sectorSize(tls *libc.TLS, file uintptr) int32 {
	inner, m := below(file)
	return function[func(*libc.TLS, uintptr) int32](m.FxSectorSize)(tls, inner)
}

// deviceCharacteristics forbids reads of parts of pages, whose seals could not be checked.
func deviceCharacteristics(tls *libc.TLS, file uintptr) int32 {
	inner, m := below(file)
	return function[func(*libc.TLS, uintptr) int32](m.FxDeviceCharacteristics)(tls,
		inner) &^ sqlite3.SQLITE_IOCAP_SUBPAGE_READ
}

func shmMap(tls *libc.TLS, file uintptr, n, size, extend int32, address uintptr) int32 {
	inner, m := below(file)
	return function[func(*libc.TLS, uintptr, int32, int32, int32, uintptr) int32](m.FxShmMap)(tls, inner, n, size,
		extend, address)
}

func shmLock(tls *libc.TLS, file uintptr, first, n, flags int32) int32 {
	inner, m := below(file)
	return function[func(*libc.TLS, uintptr, int32, int32, int32) int32](m.FxShmLock)(tls, inner, first, n, flags)
}

func shmBarrier(tls *libc.TLS, file uintptr) {
	inner, m := below(file)
	function[func(*libc.TLS, uintptr)](m.FxShmBarrier)(tls, inner)
}

func shmUnmap(tls *libc.TLS, file uintptr, remove int32) int32 {
	inner, m := below(file)
	return function[func(*libc.TLS, uintptr, int32) int32](m.FxShmUnmap)(tls, inner, remove)
}

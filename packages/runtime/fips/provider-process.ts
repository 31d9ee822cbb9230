// Reads version and status of the FIPS provider of this process (provider-base(7)), with the functions of OpenSSL that
// Node exports. This runs in a process of its own, because node:ffi can read and write all memory.

import { getFips } from 'node:crypto'
import { DynamicLibrary, exportString, getRawPointer, toString as readString } from 'node:ffi'

/** Members of OSSL_PARAM (OSSL_PARAM(3)), each of 8 bytes: key, type, data, data size, return size. */
const paramMembers = 5
const types = { integer: 1n, utf8Pointer: 6n } as const
const fields = {
  name: 'utf8Pointer',
  version: 'utf8Pointer',
  buildinfo: 'utf8Pointer',
  status: 'integer',
} as const

const pinned: ArrayBuffer[] = []
function allocate(bytes: number): { readonly view: DataView; readonly address: bigint } {
  const buffer = new ArrayBuffer(bytes)
  pinned.push(buffer)
  return { view: new DataView(buffer), address: getRawPointer(buffer) }
}

function putText(text: string): bigint {
  const { view, address } = allocate(Buffer.byteLength(text) + 1)
  exportString(text, address, view.byteLength)
  return address
}

const openssl = new DynamicLibrary(null)
const load = openssl.getFunction('OSSL_PROVIDER_load', { arguments: ['u64', 'u64'], return: 'u64' })
const readParams = openssl.getFunction('OSSL_PROVIDER_get_params', {
  arguments: ['u64', 'u64'],
  return: 'i32',
})
const selfTest = openssl.getFunction('OSSL_PROVIDER_self_test', { arguments: ['u64'], return: 'i32' })

const provider: bigint = load(0n, putText('fips'))
if (provider === 0n) throw new Error('OpenSSL has loaded no provider of the name fips')
const names = Object.keys(fields) as (keyof typeof fields)[]
const params = allocate(8 * paramMembers * (names.length + 1))
const values = names.map((name, index) => {
  const value = allocate(8)
  const members = [putText(name), types[fields[name]], value.address, 8n, 0n]
  for (const [at, member] of members.entries())
    params.view.setBigUint64(8 * (paramMembers * index + at), member, true)
  return value.view
})
if (readParams(provider, params.address) !== 1)
  throw new Error('the FIPS provider reveals nothing about itself')
const read = Object.fromEntries(
  names.map((name, index) => {
    const value = values[index]?.getBigUint64(0, true) ?? 0n
    return [name, fields[name] === 'integer' ? value === 1n : value === 0n ? '' : readString(value)]
  }),
)
process.stdout.write(
  JSON.stringify({ ...read, selfTest: selfTest(provider) === 1, isDefault: getFips() === 1 }),
)

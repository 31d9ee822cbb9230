import { DynamicLibrary, getRawPointer, getUint8, getUint64 } from 'node:ffi'
import {
  type AttributeName,
  argumentCounts,
  attributes,
  type FunctionName,
  formatReturnValue,
  functionNames,
  returnValues,
  unavailable,
} from './constants.ts'
import { TokenError } from './protocol.ts'

/**
 * The library in this process: memory that it reads and writes, its structures, and calls of its functions. Structures have
 * the alignment of the platform and a CK_ULONG of 8 bytes.
 */
/** Memory for the arguments of one request: data twice, a signature, structures. */
const memoryBytes = 512 * 1024

/** A function of the library returned an error. */
export class ReturnError extends Error {
  readonly value: number
  readonly functionName: FunctionName

  constructor(name: FunctionName, value: number) {
    super(`${name}: ${formatReturnValue(value)}`)
    this.value = value
    this.functionName = name
  }
}

/** Memory at a fixed address, outside the heap that the garbage collector moves. Wiped after each request. */
export class NativeMemory {
  readonly #buffer = new ArrayBuffer(memoryBytes)
  readonly #bytes = Buffer.from(this.#buffer)
  readonly #base = getRawPointer(this.#buffer)
  #used = 0

  /** @returns the position of so many bytes, aligned to 8 */
  reserve(bytes: number): number {
    const at = this.#used
    this.#used = at + ((bytes + 7) & ~7)
    if (this.#used > memoryBytes) throw new TokenError('invalid_data', 'the data of the request is too large')
    return at
  }

  put(bytes: Uint8Array): number {
    const at = this.reserve(bytes.length)
    this.#bytes.set(bytes, at)
    return at
  }

  /** Numbers of 8 bytes in a row: an array of CK_ULONG or a structure of them. */
  putNumbers(...numbers: readonly (number | bigint)[]): number {
    const at = this.reserve(8 * numbers.length)
    numbers.forEach((number, index) => {
      this.#bytes.writeBigUInt64LE(BigInt(number), at + 8 * index)
    })
    return at
  }

  address(at: number): bigint {
    return this.#base + BigInt(at)
  }

  /** NULL_PTR for no bytes. */
  addressOrNull(bytes: Uint8Array): bigint {
    return bytes.length === 0 ? 0n : this.address(this.put(bytes))
  }

  number(at: number): bigint {
    return this.#bytes.readBigUInt64LE(at)
  }

  /** A length or a count that the library wrote. @throws TokenError when it is more than fits */
  length(at: number, max: number): number {
    const length = this.number(at)
    if (length > BigInt(max))
      throw new TokenError(
        'library_failed',
        `the library returned the length ${length}, but at most ${max} fit`,
      )
    return Number(length)
  }

  /** A copy. */
  bytes(at: number, length: number): Buffer {
    return Buffer.from(this.#bytes.subarray(at, at + length))
  }

  wipe(): void {
    this.#bytes.fill(0, 0, this.#used)
    this.#used = 0
  }
}

export type AttributeValue = boolean | number | string | Uint8Array
export type Template = readonly (readonly [AttributeName, AttributeValue])[]

/** An array of CK_ATTRIBUTE (Base 2.40 §3.4): type, address, length. @returns the arguments of a function: address, count */
export function putTemplate(memory: NativeMemory, template: Template): [bigint, bigint] {
  const fields = template.flatMap(([name, value]) => {
    const bytes = toAttributeBytes(value)
    return [attributes[name], memory.addressOrNull(bytes), bytes.length]
  })
  return [memory.address(memory.putNumbers(...fields)), BigInt(template.length)]
}

function toAttributeBytes(value: AttributeValue): Uint8Array {
  if (typeof value === 'boolean') return Uint8Array.of(value ? 1 : 0)
  if (typeof value === 'string') return Buffer.from(value)
  if (typeof value !== 'number') return value
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

/** CK_MECHANISM (Base 2.40 §3.5): number, address of its parameters, their length. */
export function putMechanism(memory: NativeMemory, mechanism: number, parameters?: Parameters): bigint {
  if (parameters === undefined) return memory.address(memory.putNumbers(mechanism, 0, 0))
  return memory.address(
    memory.putNumbers(mechanism, memory.address(memory.putNumbers(...parameters)), 8 * parameters.length),
  )
}

/** The same, with a parameter that is bytes. */
export function putMechanismWith(memory: NativeMemory, mechanism: number, bytes: Uint8Array): bigint {
  return memory.address(memory.putNumbers(mechanism, memory.addressOrNull(bytes), bytes.length))
}

/** Members of a structure, each of 8 bytes: addresses and CK_ULONG. */
type Parameters = readonly (number | bigint)[]

/**
 * CK_GCM_PARAMS (Current Mechanisms 2.40 errata 01 §2.12.3, with ulIvBits).
 * @returns them, and the position of the IV: a token that makes its own writes it there
 */
export function gcmParameters(
  memory: NativeMemory,
  iv: Uint8Array,
  additionalData: Uint8Array,
  tagBits: number,
): { readonly parameters: Parameters; readonly ivAt: number } {
  const ivAt = memory.put(iv)
  const aad = memory.addressOrNull(additionalData)
  const parameters = [memory.address(ivAt), iv.length, 8 * iv.length, aad, additionalData.length, tagBits]
  return { parameters, ivAt }
}

/** Reads attributes of an object in one call, with room for `maxBytes` each. @returns undefined for those not revealed */
export function readAttributes<Name extends AttributeName>(
  library: Cryptoki,
  memory: NativeMemory,
  session: bigint,
  object: bigint,
  maxBytes: Readonly<Record<Name, number>>,
): Readonly<Record<Name, Buffer | undefined>> {
  const names = Object.keys(maxBytes) as Name[]
  const rooms = names.map((name) => memory.reserve(maxBytes[name]))
  const at = memory.putNumbers(
    ...names.flatMap((name, index) => [attributes[name], memory.address(rooms[index] ?? 0), maxBytes[name]]),
  )
  const value = library.call('C_GetAttributeValue', session, object, memory.address(at), BigInt(names.length))
  const { CKR_OK, CKR_ATTRIBUTE_SENSITIVE, CKR_ATTRIBUTE_TYPE_INVALID } = returnValues
  // The last two are about single attributes: the others are there (Base 2.40 §5.7).
  if (![CKR_OK, CKR_ATTRIBUTE_SENSITIVE, CKR_ATTRIBUTE_TYPE_INVALID].some((one) => one === value))
    throw new ReturnError('C_GetAttributeValue', value)
  const read = names.map((name, index) => {
    const lengthAt = at + 24 * index + 16
    if (memory.number(lengthAt) === unavailable) return [name, undefined]
    return [name, memory.bytes(rooms[index] ?? 0, memory.length(lengthAt, maxBytes[name]))]
  })
  return Object.fromEntries(read) as Record<Name, Buffer | undefined>
}

type Callable = (...args: bigint[]) => bigint

/** A loaded library. Its functions are those of its function list. */
export class Cryptoki {
  readonly #functions: ReadonlyMap<FunctionName, Callable>

  /** @throws TokenError when it cannot be loaded or is no PKCS#11 library */
  constructor(path: string) {
    const library = loadLibrary(path)
    const list = readFunctionList(library, path)
    let indirect: ((address: bigint, count: number) => Callable) | undefined
    const names = Object.keys(argumentCounts) as FunctionName[]
    this.#functions = new Map(
      names.map((name) => {
        const address = getUint64(list, 8 + 8 * functionNames.indexOf(name))
        if (address === 0n)
          throw new TokenError('library_unusable', `${path} has no ${name} in its list of functions`)
        const count = argumentCounts[name]
        const exported = findExported(library, name, count, address)
        if (exported !== undefined) return [name, exported]
        indirect ??= callsByAddress(path)
        return [name, indirect(address, count)]
      }),
    )
  }

  /** @returns the return value */
  call(name: FunctionName, ...args: bigint[]): number {
    const callable = this.#functions.get(name)
    if (callable === undefined) throw new Error(`${name} is not loaded`)
    return Number(callable(...args))
  }

  /** @throws ReturnError for any other return value than CKR_OK */
  invoke(name: FunctionName, ...args: bigint[]): void {
    const value = this.call(name, ...args)
    if (value !== returnValues.CKR_OK) throw new ReturnError(name, value)
  }
}

function loadLibrary(path: string): DynamicLibrary {
  try {
    return new DynamicLibrary(path)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new TokenError('library_unusable', `cannot load the PKCS#11 library ${path}: ${reason}`)
  }
}

/** @returns the address of CK_FUNCTION_LIST */
function readFunctionList(library: DynamicLibrary, path: string): bigint {
  let getFunctionList: (address: bigint) => bigint
  try {
    getFunctionList = library.getFunction('C_GetFunctionList', signature(1))
  } catch {
    throw new TokenError('library_unusable', `${path} is no PKCS#11 library: it has no C_GetFunctionList`)
  }
  const pointer = new ArrayBuffer(8)
  const value = Number(getFunctionList(getRawPointer(pointer)))
  const list = new DataView(pointer).getBigUint64(0, true)
  if (value !== returnValues.CKR_OK || list === 0n)
    throw new TokenError('library_unusable', `C_GetFunctionList of ${path}: ${formatReturnValue(value)}`)
  const [major, minor] = [getUint8(list, 0), getUint8(list, 1)]
  if (major !== 2 && major !== 3)
    throw new TokenError(
      'library_unusable',
      `${path} is of PKCS#11 ${major}.${minor}: 2.x and 3.x can be used`,
    )
  return list
}

function signature(count: number): { readonly arguments: 'u64'[]; readonly return: 'u64' } {
  return { arguments: Array<'u64'>(count).fill('u64'), return: 'u64' }
}

/** The exported function, if it is the one of the list. Libraries must export C_GetFunctionList alone. */
function findExported(
  library: DynamicLibrary,
  name: FunctionName,
  count: number,
  address: bigint,
): Callable | undefined {
  try {
    const exported = library.getFunction(name, signature(count))
    return exported.pointer === address ? exported : undefined
  } catch {
    return undefined
  }
}

/** FFI_DEFAULT_ABI of ffitarget.h. */
const defaultAbi: Readonly<Record<string, number>> = { x64: 2, arm64: 1 }

/**
 * node:ffi calls functions by name alone. libffi of the system, called by name, calls by address: `ffi_call` (libffi 3,
 * "The Basics").
 */
function callsByAddress(path: string): (address: bigint, count: number) => Callable {
  const abi = defaultAbi[process.arch]
  const libffi = abi === undefined ? undefined : loadLibffi()
  if (libffi === undefined || abi === undefined)
    throw new TokenError(
      'library_unusable',
      `${path} exports only C_GetFunctionList: install libffi (Debian and Ubuntu: libffi8) to use it`,
    )
  const prepare = libffi.getFunction('ffi_prep_cif', {
    arguments: ['u64', 'u32', 'u32', 'u64', 'u64'],
    return: 'u32',
  })
  const call = libffi.getFunction('ffi_call', { arguments: ['u64', 'u64', 'u64', 'u64'], return: 'void' })
  const ulong = libffi.getSymbol('ffi_type_uint64')
  return (address, count) => {
    // The prepared call (32 bytes), the types, the addresses of the arguments, the arguments, the return value.
    const memory = new BigUint64Array(new ArrayBuffer(8 * (8 + 3 * count + 1)))
    const base = getRawPointer(memory.buffer)
    const at = (index: number): bigint => base + BigInt(8 * index)
    const [types, addresses, values, result] = [8, 8 + count, 8 + 2 * count, 8 + 3 * count] as const
    for (let index = 0; index < count; index += 1) {
      memory[types + index] = ulong
      memory[addresses + index] = at(values + index)
    }
    const status = prepare(base, abi, count, ulong, at(types))
    if (status !== 0) throw new TokenError('library_unusable', `libffi cannot call ${path}: ${status}`)
    return (...args) => {
      memory.set(args, values)
      call(base, address, at(result), at(addresses))
      return memory[result] ?? 0n
    }
  }
}

function loadLibffi(): DynamicLibrary | undefined {
  const names = process.platform === 'darwin' ? ['/usr/lib/libffi.dylib'] : ['libffi.so.8', 'libffi.so.7']
  for (const name of names) {
    try {
      return new DynamicLibrary(name)
    } catch {
      // The next one.
    }
  }
  return undefined
}

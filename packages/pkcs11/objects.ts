import { BoundedMap } from '@warder/base'
import { type AttributeName, type FunctionName, keyTypes, objectClasses, returnValues } from './constants.ts'
import {
  type Cryptoki,
  type NativeMemory,
  putTemplate,
  ReturnError,
  readAttributes,
  type Template,
} from './cryptoki.ts'
import {
  type KeyAttributes,
  type KeyReference,
  maxKeys,
  maxListed,
  type PublicMaterial,
  TokenError,
} from './protocol.ts'

/** A handle is not used longer without a new search: the key may have been replaced. */
const handleMs = 60_000
const maxHandles = 256
/** Maximum number of handles that one call of C_FindObjects returns. */
const searchRoom = 1024

/** A session of a token that is logged in, for operations. */
export interface OpenToken {
  readonly library: Cryptoki
  readonly memory: NativeMemory
  readonly session: bigint
  readonly handles: BoundedMap<string, { readonly handle: bigint; readonly at: number }>
}

export function createHandles(): OpenToken['handles'] {
  return new BoundedMap(maxHandles)
}

/** Calls a function of the session. @throws ReturnError */
export function invoke(token: OpenToken, name: FunctionName, ...args: bigint[]): void {
  token.library.invoke(name, token.session, ...args)
}

/** Attributes that each new key of the token has. */
export function describeNewKey(
  kind: KeyReference['class'],
  type: keyof typeof keyTypes,
  label: string,
  id: string,
): Template {
  return [
    ['CKA_CLASS', objectClasses[kind]],
    ['CKA_KEY_TYPE', keyTypes[type]],
    ['CKA_TOKEN', true],
    ['CKA_PRIVATE', kind !== 'public'],
    ['CKA_LABEL', label],
    ['CKA_ID', Buffer.from(id, 'hex')],
  ]
}

/** Maximum number of keys with one label that are listed. */
const maxSameLabel = 16

/** @returns handles of at most `max` keys of the token */
function findKeys(token: OpenToken, reference: KeyReference, max = 2): readonly bigint[] {
  const { memory } = token
  const template: Template = [
    ['CKA_CLASS', objectClasses[reference.class]],
    ['CKA_TOKEN', true],
    ...(reference.label === undefined ? [] : ([['CKA_LABEL', reference.label]] as const)),
    ...(reference.id === undefined ? [] : ([['CKA_ID', Buffer.from(reference.id, 'hex')]] as const)),
  ]
  invoke(token, 'C_FindObjectsInit', ...putTemplate(memory, template))
  try {
    const room = Math.min(max, searchRoom)
    const [listAt, countAt] = [memory.reserve(8 * room), memory.putNumbers(0)]
    const found: bigint[] = []
    for (;;) {
      invoke(token, 'C_FindObjects', memory.address(listAt), BigInt(room), memory.address(countAt))
      const count = memory.length(countAt, room)
      for (let index = 0; index < count; index += 1) found.push(memory.number(listAt + 8 * index))
      if (count === 0 || found.length >= max) return found
    }
  } finally {
    token.library.call('C_FindObjectsFinal', token.session)
  }
}

/** The keys of a class from a position on, with their attributes, and how many there are. */
export function listKeys(
  token: OpenToken,
  kind: KeyReference['class'],
  from: number,
): { readonly total: number; readonly keys: readonly KeyAttributes[] } {
  const handles = findKeys(token, { class: kind }, maxKeys)
  const { memory } = token
  const keys = handles.slice(from, from + maxListed).map((handle) => {
    memory.wipe()
    return readKeyAttributes(token, handle)
  })
  return { total: handles.length, keys }
}

function formatKey({ class: kind, label, id }: KeyReference): string {
  const names = [label === undefined ? [] : [JSON.stringify(label)], id === undefined ? [] : [`of id ${id}`]]
  return `${kind} key ${names.flat().join(' ')}`
}

/** @throws TokenError when a key of the class has the label */
export function requireNewLabel(token: OpenToken, kind: KeyReference['class'], label: string): void {
  if (findKeys(token, { class: kind, label }).length > 0)
    throw new TokenError('key_exists', `the token has a ${formatKey({ class: kind, label })} already`)
}

/** @returns CKA_IDs in hexadecimal, in ascending order */
export function listIds(token: OpenToken, kind: KeyReference['class'], label: string): readonly string[] {
  return findKeys(token, { class: kind, label }, maxSameLabel)
    .flatMap((handle) => readKeyAttributes(token, handle).id ?? [])
    .filter((id) => id !== '')
    .sort()
}

function findKey(token: OpenToken, reference: KeyReference): bigint {
  const [handle, second] = findKeys(token, reference)
  if (handle === undefined) throw new TokenError('key_not_found', `the token has no ${formatKey(reference)}`)
  if (second !== undefined)
    throw new TokenError('key_ambiguous', `the token has more than one ${formatKey(reference)}`)
  return handle
}

const staleHandle: readonly number[] = [
  returnValues.CKR_KEY_HANDLE_INVALID,
  returnValues.CKR_OBJECT_HANDLE_INVALID,
  returnValues.CKR_WRAPPING_KEY_HANDLE_INVALID,
  returnValues.CKR_UNWRAPPING_KEY_HANDLE_INVALID,
]

/** Uses a key by its handle, which is remembered for a while; a handle that the token no longer knows is searched again. */
export function withKey<Result>(
  token: OpenToken,
  reference: KeyReference,
  use: (handle: bigint) => Result,
): Result {
  const name = `${reference.class} ${reference.id} ${reference.label}`
  const known = token.handles.get(name)
  if (known !== undefined && performance.now() - known.at < handleMs) {
    try {
      return use(known.handle)
    } catch (error) {
      if (!(error instanceof ReturnError && staleHandle.includes(error.value))) throw error
      token.handles.delete(name)
    }
  }
  const handle = findKey(token, reference)
  token.handles.set(name, { handle, at: performance.now() })
  return use(handle)
}

const booleans = {
  token: 'CKA_TOKEN',
  private: 'CKA_PRIVATE',
  sensitive: 'CKA_SENSITIVE',
  alwaysSensitive: 'CKA_ALWAYS_SENSITIVE',
  extractable: 'CKA_EXTRACTABLE',
  neverExtractable: 'CKA_NEVER_EXTRACTABLE',
  local: 'CKA_LOCAL',
  encrypt: 'CKA_ENCRYPT',
  decrypt: 'CKA_DECRYPT',
  wrap: 'CKA_WRAP',
  unwrap: 'CKA_UNWRAP',
  sign: 'CKA_SIGN',
  verify: 'CKA_VERIFY',
} as const satisfies Partial<Record<keyof KeyAttributes, AttributeName>>

export function readKeyAttributes({ library, memory, session }: OpenToken, handle: bigint): KeyAttributes {
  const flag = Object.values(booleans)
  const read = readAttributes(library, memory, session, handle, {
    ...{ CKA_LABEL: 1024, CKA_ID: 1024, CKA_KEY_TYPE: 8, CKA_VALUE_LEN: 8 },
    ...(Object.fromEntries(flag.map((name) => [name, 1])) as Record<(typeof flag)[number], number>),
  })
  const entries = Object.entries(booleans).map(([name, attribute]) => {
    const value = read[attribute]
    return [name, value === undefined || value.length === 0 ? undefined : value[0] !== 0]
  })
  return {
    label: read.CKA_LABEL?.toString('utf8'),
    id: read.CKA_ID?.toString('hex'),
    keyType: toNumber(read.CKA_KEY_TYPE),
    valueBytes: toNumber(read.CKA_VALUE_LEN),
    ...(Object.fromEntries(entries) as Record<keyof typeof booleans, boolean | undefined>),
  }
}

/** A CK_ULONG. */
function toNumber(value: Buffer | undefined): number | undefined {
  return value?.length === 8 ? Number(value.readBigUInt64LE(0)) : undefined
}

export function readPublicMaterial({ library, memory, session }: OpenToken, handle: bigint): PublicMaterial {
  const room = { CKA_KEY_TYPE: 8, CKA_MODULUS: 2048, CKA_PUBLIC_EXPONENT: 2048 } as const
  const read = readAttributes(library, memory, session, handle, {
    ...room,
    ...{ CKA_EC_PARAMS: 1024, CKA_EC_POINT: 1024 },
  })
  return {
    keyType: toNumber(read.CKA_KEY_TYPE),
    modulus: read.CKA_MODULUS?.toString('hex'),
    exponent: read.CKA_PUBLIC_EXPONENT?.toString('hex'),
    params: read.CKA_EC_PARAMS?.toString('hex'),
    point: read.CKA_EC_POINT?.toString('hex'),
  }
}

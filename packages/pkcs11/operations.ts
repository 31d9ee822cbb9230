import {
  type AttributeName,
  type FunctionName,
  keyTypes,
  mechanisms,
  objectClasses,
  returnValues,
} from './constants.ts'
import {
  gcmParameters,
  type NativeMemory,
  putMechanism,
  putMechanismWith,
  putTemplate,
  ReturnError,
  readAttributes,
  type Template,
} from './cryptoki.ts'
import {
  describeNewKey,
  invoke,
  listIds,
  listKeys,
  type OpenToken,
  readKeyAttributes,
  readPublicMaterial,
  requireNewLabel,
  withKey,
} from './objects.ts'
import {
  type CipherMechanism,
  type KeyReference,
  type KeyUse,
  keyUses,
  maxDataBytes,
  type Operation,
  type Requests,
  type SignMechanism,
  TokenError,
} from './protocol.ts'

/** Room for the result of a function beside the data: a tag, a block, a signature of RSA with 16,384 bits. */
const roomBytes = 2048

export interface Outcome {
  readonly result?: unknown
  readonly parts?: readonly Uint8Array[]
}

type Parts = readonly Buffer[]
type Perform<Op extends Operation> = (token: OpenToken, request: Requests[Op], parts: Parts) => Outcome

/** The operations of a session. Each leaves no object, no search and no started operation of the library behind. */
export const operations: { readonly [Op in Exclude<Operation, 'open'>]: Perform<Op> } = {
  generateKey(token, { label, id, type, bytes, uses }) {
    requireNewLabel(token, 'secret', label)
    const template: Template = [
      ...describeNewKey('secret', type, label, id),
      ['CKA_VALUE_LEN', bytes],
      ['CKA_SENSITIVE', true],
      ['CKA_EXTRACTABLE', false],
      ...keyUses.map((use) => [useAttributes[use], uses.includes(use)] as const),
    ]
    const { memory } = token
    const { CKM_AES_KEY_GEN, CKM_GENERIC_SECRET_KEY_GEN } = mechanisms
    const mechanism = putMechanism(memory, type === 'AES' ? CKM_AES_KEY_GEN : CKM_GENERIC_SECRET_KEY_GEN)
    const at = memory.putNumbers(0)
    invoke(token, 'C_GenerateKey', mechanism, ...putTemplate(memory, template), memory.address(at))
    return { result: readKeyAttributes(token, memory.number(at)) }
  },

  generateKeyPair(token, { label, id, pair, uses }) {
    requireNewLabel(token, 'private', label)
    const rsa = pair.type === 'RSA'
    const publicTemplate: Template = [
      ...describeNewKey('public', pair.type, label, id),
      ['CKA_VERIFY', uses.includes('sign')],
      ...(rsa ? ([['CKA_ENCRYPT', uses.includes('decrypt')]] as const) : []),
      ...(rsa
        ? ([
            ['CKA_MODULUS_BITS', pair.bits],
            ['CKA_PUBLIC_EXPONENT', Uint8Array.of(1, 0, 1)],
          ] as const)
        : ([['CKA_EC_PARAMS', Buffer.from(pair.params, 'hex')]] as const)),
    ]
    const privateTemplate: Template = [
      ...describeNewKey('private', pair.type, label, id),
      ['CKA_SENSITIVE', true],
      ['CKA_EXTRACTABLE', false],
      ['CKA_SIGN', uses.includes('sign')],
      ...(rsa ? ([['CKA_DECRYPT', uses.includes('decrypt')]] as const) : []),
    ]
    const generator = {
      RSA: mechanisms.CKM_RSA_PKCS_KEY_PAIR_GEN,
      EC: mechanisms.CKM_EC_KEY_PAIR_GEN,
      OKP: mechanisms.CKM_EC_EDWARDS_KEY_PAIR_GEN,
    }[pair.type]
    const { memory } = token
    const at = memory.putNumbers(0, 0)
    const templates = [...putTemplate(memory, publicTemplate), ...putTemplate(memory, privateTemplate)]
    const handles = [memory.address(at), memory.address(at + 8)]
    invoke(token, 'C_GenerateKeyPair', putMechanism(memory, generator), ...templates, ...handles)
    return { result: readKeyAttributes(token, memory.number(at + 8)) }
  },

  encrypt: (token, request, parts) => useCipher(token, 'C_Encrypt', request, parts),
  decrypt: (token, request, parts) => useCipher(token, 'C_Decrypt', request, parts),

  seal(token, { key, mechanism }, [data]) {
    const { memory } = token
    const at = memory.putNumbers(0)
    const template = putTemplate(memory, [
      ...describeSealed,
      ['CKA_EXTRACTABLE', true],
      ['CKA_VALUE', requirePart(data)],
    ])
    invoke(token, 'C_CreateObject', ...template, memory.address(at))
    return withSessionObject(token, memory.number(at), (target) => wrapKey(token, key, mechanism, target))
  },

  unseal(token, { key, mechanism }, [wrapped]) {
    const template: Template = [...describeSealed, ['CKA_EXTRACTABLE', true]]
    return withSessionObject(token, unwrapKey(token, key, mechanism, wrapped, template), (target) => {
      const { library, memory, session } = token
      const { CKA_VALUE } = readAttributes(library, memory, session, target, { CKA_VALUE: maxDataBytes })
      if (CKA_VALUE === undefined)
        throw new TokenError('not_supported', 'the token does not reveal unwrapped data')
      return { parts: [CKA_VALUE] }
    })
  },

  wrap: (token, { key, target, mechanism }) =>
    withKey(token, target, (handle) => wrapKey(token, key, mechanism, handle)),

  unwrap(token, { key, mechanism, label, id }, [wrapped]) {
    requireNewLabel(token, 'secret', label)
    const template: Template = [
      ...describeNewKey('secret', 'AES', label, id),
      ['CKA_SENSITIVE', true],
      ['CKA_EXTRACTABLE', false],
      ['CKA_ENCRYPT', true],
      ['CKA_DECRYPT', true],
    ]
    return { result: readKeyAttributes(token, unwrapKey(token, key, mechanism, wrapped, template)) }
  },

  sign(token, { key, ...how }, [data]) {
    const { memory } = token
    const input = requirePart(data)
    const parts = withKey(token, key, (handle) => {
      invoke(token, 'C_SignInit', putSignMechanism(memory, how), handle)
      return [produce(token, roomBytes, (to) => ['C_Sign', ...putData(memory, input), ...to])]
    })
    return { parts }
  },

  verify(token, { key, ...how }, [data, signature]) {
    const { memory } = token
    const [input, proof] = [requirePart(data), requirePart(signature)]
    const value = withKey(token, key, (handle) => {
      invoke(token, 'C_VerifyInit', putSignMechanism(memory, how), handle)
      return token.library.call(
        'C_Verify',
        token.session,
        ...putData(memory, input),
        ...putData(memory, proof),
      )
    })
    const { CKR_OK, CKR_SIGNATURE_INVALID, CKR_SIGNATURE_LEN_RANGE } = returnValues
    if (value === CKR_OK) return { result: true }
    if (value === CKR_SIGNATURE_INVALID || value === CKR_SIGNATURE_LEN_RANGE) return { result: false }
    throw new ReturnError('C_Verify', value)
  },

  random(token, { bytes }) {
    const { memory } = token
    const at = memory.reserve(bytes)
    invoke(token, 'C_GenerateRandom', memory.address(at), BigInt(bytes))
    return { parts: [memory.bytes(at, bytes)] }
  },

  destroy(token, { key }) {
    withKey(token, key, (handle) => invoke(token, 'C_DestroyObject', handle))
    token.handles.clear()
    return {}
  },

  attributes: (token, { key }) => ({
    result: withKey(token, key, (handle) => readKeyAttributes(token, handle)),
  }),

  ids: (token, { kind, label }) => ({ result: listIds(token, kind, label) }),

  publicKey: (token, { key }) => ({
    result: withKey(token, key, (handle) => readPublicMaterial(token, handle)),
  }),

  list: (token, { class: kind, from }) => ({ result: listKeys(token, kind, from) }),
}

const useAttributes = {
  encrypt: 'CKA_ENCRYPT',
  decrypt: 'CKA_DECRYPT',
  wrap: 'CKA_WRAP',
  unwrap: 'CKA_UNWRAP',
  sign: 'CKA_SIGN',
  verify: 'CKA_VERIFY',
} as const satisfies Record<KeyUse, AttributeName>

function requirePart(part: Buffer | undefined): Buffer {
  if (part === undefined || part.length > maxDataBytes)
    throw new TokenError(
      'invalid_data',
      `the data of a request is missing, or longer than ${maxDataBytes} bytes`,
    )
  return part
}

function putData(memory: NativeMemory, data: Uint8Array): [bigint, bigint] {
  return [memory.addressOrNull(data), BigInt(data.length)]
}

/** Calls a function whose last arguments are a buffer and its length. @returns the written bytes */
function produce(
  token: OpenToken,
  room: number,
  toCall: (to: readonly [bigint, bigint]) => [FunctionName, ...bigint[]],
): Buffer {
  const { memory } = token
  const [at, lengthAt] = [memory.reserve(room), memory.putNumbers(room)]
  const [name, ...args] = toCall([memory.address(at), memory.address(lengthAt)])
  invoke(token, name, ...args)
  return memory.bytes(at, memory.length(lengthAt, room))
}

const describeSealed: Template = [
  ['CKA_CLASS', objectClasses.secret],
  ['CKA_KEY_TYPE', keyTypes.generic],
  ['CKA_TOKEN', false],
  ['CKA_PRIVATE', true],
  ['CKA_SENSITIVE', false],
]

/** Encrypts or decrypts in one call. @returns the IV that was used, and the result */
function useCipher(
  token: OpenToken,
  name: 'C_Encrypt' | 'C_Decrypt',
  { key, ...how }: Requests['encrypt'],
  [iv, aad, data]: Parts,
): Outcome {
  const { memory } = token
  const [vector, additional, input] = [requirePart(iv), requirePart(aad), requirePart(data)]
  const parts = withKey(token, key, (handle) => {
    const { mechanism, readIv } = putCipherMechanism(memory, how, vector, additional)
    invoke(token, `${name}Init`, mechanism, handle)
    const made = produce(token, input.length + roomBytes, (to) => [name, ...putData(memory, input), ...to])
    return [readIv(), made]
  })
  return { parts }
}

function putCipherMechanism(
  memory: NativeMemory,
  { mechanism, parameters, tagBits = 128 }: CipherMechanism,
  iv: Buffer,
  additional: Buffer,
): { readonly mechanism: bigint; readIv(): Buffer } {
  const readIv = (): Buffer => iv
  switch (parameters) {
    case 'gcm': {
      const gcm = gcmParameters(memory, iv, additional, tagBits)
      return {
        mechanism: putMechanism(memory, mechanism, gcm.parameters),
        readIv: () => memory.bytes(gcm.ivAt, iv.length),
      }
    }
    case 'iv':
      return { mechanism: putMechanismWith(memory, mechanism, iv), readIv }
    case 'counter': {
      // CK_AES_CTR_PARAMS (Current Mechanisms 2.40 §2.8.3) has the length of the counter in bits, then the counter
      // block.
      const block = Buffer.alloc(8 + iv.length)
      block.writeBigUInt64LE(128n)
      block.set(iv, 8)
      return { mechanism: putMechanismWith(memory, mechanism, block), readIv }
    }
    case 'none':
      return { mechanism: putMechanism(memory, mechanism), readIv }
  }
}

function putSignMechanism(memory: NativeMemory, { mechanism, pss }: SignMechanism): bigint {
  return putMechanism(memory, mechanism, pss)
}

function wrapKey(token: OpenToken, key: KeyReference, mechanism: number, target: bigint): Outcome {
  const { memory } = token
  const wrapped = withKey(token, key, (handle) =>
    produce(token, maxDataBytes + roomBytes, (to) => [
      'C_WrapKey',
      putMechanism(memory, mechanism),
      handle,
      target,
      ...to,
    ]),
  )
  return { parts: [wrapped] }
}

function unwrapKey(
  token: OpenToken,
  key: KeyReference,
  mechanism: number,
  wrapped: Buffer | undefined,
  template: Template,
): bigint {
  const { memory } = token
  const input = requirePart(wrapped)
  const at = memory.putNumbers(0)
  withKey(token, key, (handle) =>
    invoke(
      token,
      'C_UnwrapKey',
      putMechanism(memory, mechanism),
      handle,
      ...putData(memory, input),
      ...putTemplate(memory, template),
      memory.address(at),
    ),
  )
  return memory.number(at)
}

/** Destroys the object, whatever happens. */
function withSessionObject(token: OpenToken, handle: bigint, use: (handle: bigint) => Outcome): Outcome {
  try {
    return use(handle)
  } finally {
    token.library.call('C_DestroyObject', token.session, handle)
  }
}

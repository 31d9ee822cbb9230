import assert from 'node:assert/strict'
import { createCipheriv, createHmac, createSecretKey, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { computeMac } from '@warder/crypto/testing'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  integer,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { grant } from '@warder/kms/testing'
import fc from 'fast-check'
import { activeSince, aesKey, mask, wrappingSpecification } from '../../testing/keys.ts'
import { data, hex, iv, type modes, parameters, startKmipFixture, use } from '../../testing/kmip-fixture.ts'
import { aesAttributes, attributes, objectType, uid } from '../../testing/nodes.ts'

// A right permits only its operations. Alice owns a key whose bytes this test knows; bob has some rights on it. Whatever
// bob sends, the answers hold nothing that only another right gives: see `forbiddenTo`.

const { kms, alice, bob, registerKey } = await startKmipFixture()

type Mode = keyof typeof modes
type Bytes = Uint8Array
const everyUse = Object.values(use).reduce((sum, bit) => sum | bit, 0) & ~use.Unrestricted
const rightNames = ['encrypt', 'decrypt', 'mac', 'derivekey'] as const
type RightName = (typeof rightNames)[number]
const empty = Buffer.alloc(0)
const zeros = Buffer.alloc(32)

const key = randomBytes(32)
const block = (input: Bytes) => createCipheriv('aes-256-ecb', key, null).setAutoPadding(false).update(input)
const xor = (one: Bytes, other: Bytes) => Buffer.from(one).map((byte, at) => byte ^ (other[at] ?? 0))
const splitBlocks = (bytes: Bytes) =>
  Array.from({ length: Math.floor(bytes.length / 16) }, (_, at) =>
    Buffer.from(bytes).subarray(at * 16, at * 16 + 16),
  )

interface Target {
  readonly mode: Mode
  readonly iv: Bytes | undefined
  readonly plaintext: Buffer
  readonly sealed: Buffer
}

/** Ciphertexts of alice's, which bob has. */
const targets: readonly Target[] = (
  [
    ['GCM', 'aes-256-gcm', 12],
    ['CTR', 'aes-256-ctr', 16],
    ['OFB', 'aes-256-ofb', 16],
    ['CFB', 'aes-256-cfb', 16],
    ['CBC', 'aes-256-cbc', 16],
    ['ECB', 'aes-256-ecb', 0],
  ] as const
).map(([name, cipher, length]) => {
  const [given, plaintext] = [randomBytes(length), randomBytes(32)]
  const sealer = createCipheriv(cipher as 'aes-256-gcm', key, length === 0 ? (null as never) : given)
  return { mode: name, iv: length === 0 ? undefined : given, plaintext, sealed: sealer.update(plaintext) }
})
const [gcm] = targets as readonly [Target]
const counterBlock = (number: number) => Buffer.concat([gcm.iv as Bytes, Buffer.from([0, 0, 0, number])])
/** Inputs of the block cipher that give keystreams, and the hash key of GCM. */
const inputs = [zeros.subarray(0, 16), counterBlock(1), counterBlock(2), counterBlock(3)].concat(
  targets.flatMap((target) => (target.iv?.length === 16 ? [Buffer.from(target.iv)] : [])),
)
const messages = [...inputs, hex('00000001'), Buffer.from('pay 100'), Buffer.from('pay 100\0\0\0\x01')]

/** Blocks of 16 bytes that no response to a principal with these rights may contain, alone or combined with the request. */
function forbiddenTo(rights: ReadonlySet<RightName>): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const forbid = (what: string, bytes: Bytes) => {
    for (const one of splitBlocks(bytes)) found.set(one.toString('hex'), what)
  }
  forbid('the key', key)
  if (!rights.has('encrypt') || !rights.has('decrypt')) {
    for (const input of inputs) forbid('an output of the block cipher', block(input))
  }
  if (!rights.has('decrypt'))
    for (const { plaintext, mode } of targets) forbid(`plaintext of ${mode}`, plaintext)
  if (!rights.has('mac')) {
    for (const message of messages) {
      forbid('an HMAC', createHmac('sha256', key).update(message).digest())
      forbid('a CMAC', computeMac(createSecretKey(key), { kind: 'cmac', cipher: 'aes-256-cbc' }, message))
    }
  }
  return found
}

/** Everything in bytes that is in an answer. */
function byteStrings(nodes: readonly TtlvNode[]): readonly Buffer[] {
  return nodes.flatMap((node) => {
    if (node.type === 'Structure') return byteStrings(node.value)
    return node.type === 'ByteString' ? [Buffer.from(node.value)] : []
  })
}

function finds(forbidden: ReadonlyMap<string, string>, sent: readonly Bytes[], got: readonly Buffer[]) {
  for (const output of got)
    for (const combined of [output, ...sent.map((bytes) => xor(output, bytes))])
      for (let at = 0; at + 16 <= combined.length; at += 1) {
        const what = forbidden.get(combined.subarray(at, at + 16).toString('hex'))
        if (what !== undefined) return what
      }
  return undefined
}

/** An attempt: its requests, and the bytes of all responses. */
interface Tried {
  readonly sent: readonly Bytes[]
  readonly got: readonly Buffer[]
}
type Try = (id: string) => Promise<Tried>

async function asked(...request: Parameters<typeof bob.ask>): Promise<readonly TtlvNode[]> {
  return (await bob.ask(...request)).payload ?? []
}

/** The bytes of a new object, if an answer names one. */
async function madeBytes(
  nodes: readonly TtlvNode[],
  ...more: readonly TtlvNode[]
): Promise<readonly Buffer[]> {
  const id = nodes.find(({ tag }) => tag === Tag.UniqueIdentifier)?.value
  return typeof id === 'string' ? byteStrings(await asked('Get', [uid(id), ...more])) : []
}

const inMode = (mode: Mode, ...more: readonly TtlvNode[]) =>
  parameters(
    enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode[mode]),
    ...(mode === 'CBC' ? [enumeration(Tag.PaddingMethod, Enumeration.PaddingMethod.None)] : []),
    ...more,
  )

const cipher =
  (
    operation: 'Encrypt' | 'Decrypt',
    mode: Mode,
    given: Bytes | undefined,
    sent: Bytes,
    ...more: TtlvNode[]
  ): Try =>
  async (id) => {
    const members = [uid(id), inMode(mode, ...more), data(sent), given && iv(given)]
    return { sent: [sent], got: byteStrings(await asked(operation, members)) }
  }

/** The first part is empty; the second one is `input` combined with the IV of the answer. */
const inParts =
  (mode: Mode, input: Bytes): Try =>
  async (id) => {
    const begun = await asked('Encrypt', [
      uid(id),
      inMode(mode),
      data(empty),
      boolean(Tag.InitIndicator, true),
    ])
    const [made, correlation] = [Tag.IVCounterNonce, Tag.CorrelationValue].map((tag) =>
      begun.find((node) => node.tag === tag),
    )
    if (correlation === undefined) return { sent: [], got: byteStrings(begun) }
    const sent = xor(input, (made?.value ?? zeros) as Bytes)
    const next = await asked('Encrypt', [uid(id), data(sent), correlation])
    return { sent: [sent], got: byteStrings([...begun, ...next]) }
  }

const macs =
  (message: Bytes, ...chosen: readonly TtlvNode[]): Try =>
  async (id) => ({
    sent: [],
    got: byteStrings(
      await asked('MAC', [uid(id), chosen.length > 0 ? parameters(...chosen) : undefined, data(message)]),
    ),
  })

const derives =
  (method: keyof typeof Enumeration.DerivationMethod, ...members: readonly (TtlvNode | undefined)[]): Try =>
  async (id) => ({
    sent: [zeros],
    got: await madeBytes(
      await asked('DeriveKey', [
        objectType('SymmetricKey'),
        uid(id),
        enumeration(Tag.DerivationMethod, Enumeration.DerivationMethod[method]),
        structure(Tag.DerivationParameters, members),
        aesAttributes(128, activeSince),
      ]),
    ),
  })

/** Material of bob's own, wrapped. */
const wraps =
  (mode: Mode, material: Bytes): Try =>
  async (id) => {
    const { id: own } = await bob.do('Register', [
      objectType('SymmetricKey'),
      attributes(mask('Encrypt'), activeSince),
      aesKey(material),
    ])
    const wrapped = await asked('Get', [uid(own), wrappingSpecification(id, mode, 'NoEncoding')])
    return { sent: [material], got: byteStrings(wrapped) }
  }

/** A ciphertext that is registered as a key which the key wrapped. */
const unwraps =
  ({ mode, iv: given, sealed }: Pick<Target, 'mode' | 'iv' | 'sealed'>): Try =>
  async (id) => {
    const wrapping = structure(Tag.KeyWrappingData, [
      enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.Encrypt),
      structure(Tag.EncryptionKeyInformation, [uid(id), inMode(mode)]),
      given && byteString(Tag.IVCounterNonce, given),
      enumeration(Tag.EncodingOption, Enumeration.EncodingOption.NoEncoding),
    ])
    const made = await asked('Register', [
      objectType('SymmetricKey'),
      attributes(mask('Encrypt'), activeSince),
      structure(Tag.SymmetricKey, [
        structure(Tag.KeyBlock, [
          enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.Raw),
          byteString(Tag.KeyValue, sealed),
          enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
          integer(Tag.CryptographicLength, sealed.length * 8),
          wrapping,
        ]),
      ]),
    ])
    const clear = enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped)
    return { sent: [sealed], got: await madeBytes(made, clear) }
  }

const sha256 = parameters(enumeration(Tag.HashingAlgorithm, Enumeration.HashingAlgorithm.SHA_256))
const derivationData = (bytes: Bytes) => byteString(Tag.DerivationData, bytes)
const counterLength = (bits: number) => integer(Tag.CounterLength, bits)
const cmac = inMode('CMAC')
const readIv = ({ iv: given }: Target) => given as Bytes
const [, ctr, ofb, cfb, cbc, ecb] = targets as readonly [Target, Target, Target, Target, Target, Target]

/** Each is a door to the effect of rights that its own name does not say; all of these it takes. */
const doors: readonly (readonly [string, readonly RightName[], Try])[] = [
  ...[ctr, ofb, cfb].flatMap((target): (typeof doors)[number][] => [
    [
      `Encrypt ${target.mode}`,
      ['encrypt', 'decrypt'],
      cipher('Encrypt', target.mode, readIv(target), target.sealed),
    ],
    [`Decrypt ${target.mode}`, ['encrypt', 'decrypt'], cipher('Decrypt', target.mode, readIv(target), zeros)],
    [`unwrapping in ${target.mode}`, ['encrypt', 'decrypt'], unwraps({ ...target, sealed: zeros })],
  ]),
  ['Encrypt GCM with its IV', ['encrypt', 'decrypt'], cipher('Encrypt', 'GCM', readIv(gcm), gcm.sealed)],
  [
    'Encrypt CBC with an IV',
    ['encrypt', 'decrypt'],
    cipher('Encrypt', 'CBC', zeros.subarray(16), counterBlock(2)),
  ],
  ['Encrypt ECB', ['encrypt', 'decrypt'], cipher('Encrypt', 'ECB', undefined, counterBlock(2))],
  ['Encrypt CBC in parts', ['encrypt', 'decrypt'], inParts('CBC', counterBlock(2))],
  ['wrapping in ECB', ['encrypt', 'decrypt'], wraps('ECB', counterBlock(2))],
  ['Decrypt CBC', ['decrypt'], cipher('Decrypt', 'CBC', readIv(cbc), cbc.sealed)],
  ['Decrypt ECB', ['decrypt'], cipher('Decrypt', 'ECB', undefined, ecb.sealed)],
  ['unwrapping in CBC', ['decrypt'], unwraps(cbc)],
  ['MAC', ['mac'], macs(messages[0] as Bytes)],
  [
    'DeriveKey ENCRYPT',
    ['derivekey', 'encrypt', 'decrypt'],
    derives('ENCRYPT', inMode('ECB'), derivationData(counterBlock(2))),
  ],
  ['DeriveKey HMAC', ['derivekey', 'mac'], derives('HMAC', sha256, derivationData(counterBlock(1)))],
  [
    'DeriveKey PBKDF2',
    ['derivekey', 'mac'],
    derives('PBKDF2', sha256, byteString(Tag.Salt, Buffer.from('pay 100')), integer(Tag.IterationCount, 1)),
  ],
  [
    'DeriveKey NIST800_108F',
    ['derivekey', 'mac'],
    derives(
      'NIST800_108F',
      sha256,
      byteString(Tag.InitializationVector, Buffer.from('pay 100')),
      derivationData(empty),
    ),
  ],
]

async function keyFor(...rights: readonly RightName[]): Promise<string> {
  const id = await registerKey(key, 'AES', integer(Tag.CryptographicUsageMask, everyUse))
  if (rights.length === 0) return id
  const body = { unique_identifier: id, user_id: 'bob', operation_types: rights }
  assert.equal((await kms.user('alice').post('/access/grant', body)).status, 200)
  return id
}

test('an operation with the effect of several rights requires all of them', async () => {
  const all = await keyFor(...rightNames)
  const nothing = forbiddenTo(new Set())
  for (const [name, takes, attempt] of doors) {
    const open = await attempt(all)
    assert.ok(finds(nothing, open.sent, open.got) !== undefined, `${name} opens with all rights`)
    for (const lacking of takes) {
      const { got } = await attempt(await keyFor(...rightNames.filter((right) => right !== lacking)))
      assert.deepEqual(
        got.filter(({ length }) => length > 16 || name.includes('MAC')),
        [],
        `${name} without ${lacking}`,
      )
    }
  }
})

const modeNames = fc.constantFrom<Mode>(
  'GCM',
  'CTR',
  'OFB',
  'CFB',
  'CBC',
  'ECB',
  'GCM_SIV',
  'CCM',
  'NISTKeyWrap',
  'AESKeyWrapPadding',
)
const pooled = fc.constantFrom<Bytes>(
  ...inputs,
  ...targets.map(({ sealed }) => sealed),
  zeros,
  Buffer.concat(inputs),
)
const someIv = fc.option(
  fc.constantFrom<Bytes>(
    zeros.subarray(16),
    zeros.subarray(20),
    ...targets.flatMap((target) => target.iv ?? []),
    ...inputs,
  ),
  { nil: undefined },
)
const members = fc.constantFrom<readonly TtlvNode[]>(
  [],
  [],
  [integer(Tag.IVLength, 8)],
  [counterLength(120), integer(Tag.InitialCounterValue, 2)],
)
const methods = fc.constantFrom(
  ...(Object.keys(Enumeration.DerivationMethod) as (keyof typeof Enumeration.DerivationMethod)[]),
)
const chosenFor = fc.constantFrom(sha256, cmac, inMode('ECB'), inMode('CBC'), inMode('CTR'))
const anything: fc.Arbitrary<Try> = fc.oneof(
  fc
    .tuple(fc.constantFrom('Encrypt', 'Decrypt'), modeNames, someIv, pooled, members)
    .map(([operation, mode, given, sent, more]) => cipher(operation, mode, given, sent, ...more)),
  fc.tuple(modeNames, fc.constantFrom(...inputs)).map(([mode, input]) => inParts(mode, input)),
  fc
    .tuple(methods, chosenFor, pooled, someIv, fc.constantFrom<Bytes>(...messages))
    .map(([method, chosen, derived, given, salt]) =>
      derives(
        method,
        chosen,
        derivationData(derived),
        given && byteString(Tag.InitializationVector, given),
        byteString(Tag.Salt, salt),
        integer(Tag.IterationCount, 1),
      ),
    ),
  fc.constantFrom<Bytes>(...messages).map((message) => macs(message)),
  fc
    .tuple(modeNames, fc.constantFrom<Bytes>(...inputs, zeros))
    .map(([mode, material]) => wraps(mode, material)),
  fc
    .tuple(modeNames, someIv, fc.constantFrom<Buffer>(zeros, ...targets.map(({ sealed }) => sealed)))
    .map(([mode, given, sealed]) => unwraps({ mode, iv: given, sealed })),
)

test("property: no sequence of requests reveals more than the caller's rights on the key permit", async () => {
  const calls = fc.array(anything, { minLength: 4, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(fc.subarray([...rightNames]), calls, async (rights, attempts) => {
      const id = await keyFor(...rights)
      const forbidden = forbiddenTo(new Set(rights))
      for (const attempt of attempts) {
        const { sent, got } = await attempt(id)
        assert.equal(finds(forbidden, sent, got), undefined)
      }
    }),
    { numRuns: 40 },
  )
})

test('encryption with IVs of the service and with synthetic IVs requires only the right to encrypt', async () => {
  const id = await keyFor('encrypt')
  const secret = data(randomBytes(32))
  for (const mode of ['GCM', 'CTR', 'OFB', 'CFB', 'CBC', 'CCM', 'NISTKeyWrap', 'AESKeyWrapPadding'] as const)
    await bob.do('Encrypt', [uid(id), inMode(mode), secret])
  await bob.do('Encrypt', [uid(id), inMode('GCM_SIV'), secret, iv(zeros.subarray(20))])
  for (const [given, why] of [
    [
      [inMode('GCM'), secret, iv(zeros.subarray(20))],
      /requires the right decrypt: encryption with an IV of the caller/,
    ],
    [[inMode('ECB'), secret], /requires the right decrypt: ECB returns the outputs/],
    [
      [inMode('AESKeyWrapPadding'), data(zeros.subarray(24))],
      /requires the right decrypt: AESKeyWrapPadding of 8 bytes/,
    ],
    [[inMode('GCM', integer(Tag.IVLength, 8)), secret], /all but 8 bytes/],
    [[inMode('CTR', counterLength(64), integer(Tag.InitialCounterValue, 0)), secret], /all but 8 bytes/],
  ] as const)
    assert.match(await bob.fails('Encrypt', [uid(id), ...given], 'PermissionDenied'), why)
})

test('a holder of `encrypt` cannot unwrap an object that is exported only wrapped', async () => {
  const wrapper = await keyFor('encrypt')
  const sensitive = await alice.do('Create', [
    objectType('SymmetricKey'),
    aesAttributes(256, activeSince, boolean(Tag.Sensitive, true)),
  ])
  await grant(kms.user('alice'), sensitive.id, 'bob', 'get')
  await bob.fails('Get', [uid(sensitive.id)], 'Sensitive')
  const wrapped = await bob.do('Get', [uid(sensitive.id), wrappingSpecification(wrapper, 'GCM')])
  const [sealed, nonce] = byteStrings(wrapped.nodes)
  assert.ok(sealed && nonce)
  const opening = [uid(wrapper), inMode('GCM'), data(sealed.subarray(0, -16)), iv(nonce)]
  await bob.fails('Encrypt', opening, 'PermissionDenied')
  // The owner of the wrapping key unwraps it, which is the purpose of wrapping for that key.
  await alice.do('Encrypt', opening)
})

test('a key bound to a JOSE algorithm accepts no IV from any client, its owner included', async () => {
  const { kid } = (await kms.user('alice').post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json
  const secret = data(randomBytes(16))
  await alice.do('Encrypt', [uid(kid), inMode('GCM'), secret])
  for (const given of [
    [inMode('GCM'), secret, iv(zeros.subarray(20))],
    [inMode('GCM', integer(Tag.IVLength, 8)), secret],
  ])
    assert.match(await alice.fails('Encrypt', [uid(kid), ...given], 'BadCryptographicParameters'), /A256GCM/)
})

test('key agreement with a private key that decrypts requires the right to decrypt', async () => {
  const pair = async () => {
    const made = await alice.do('CreateKeyPair', [
      structure(Tag.CommonAttributes, [
        enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.ECDH),
        structure(Tag.CryptographicDomainParameters, [
          enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve.P_256),
        ]),
        activeSince,
      ]),
      structure(Tag.PrivateKeyAttributes, [mask('Decrypt', 'DeriveKey')]),
      structure(Tag.PublicKeyAttributes, [mask('Encrypt', 'DeriveKey')]),
    ])
    return {
      own: made.get(Tag.PrivateKeyUniqueIdentifier) as string,
      open: made.get(Tag.PublicKeyUniqueIdentifier) as string,
    }
  }
  const [{ own }, { open }] = [await pair(), await pair()]
  const grant = async (id: string, ...operation_types: readonly string[]) => {
    const body = { unique_identifier: id, user_id: 'bob', operation_types }
    assert.equal((await kms.user('alice').post('/access/grant', body)).status, 200)
  }
  await grant(own, 'derivekey')
  await grant(open, 'derivekey')
  const request = [
    objectType('SymmetricKey'),
    uid(own),
    uid(open),
    enumeration(Tag.DerivationMethod, Enumeration.DerivationMethod.AsymmetricKey),
    structure(Tag.DerivationParameters, []),
    aesAttributes(256, activeSince),
  ]
  assert.match(await bob.fails('DeriveKey', request, 'PermissionDenied'), /requires the right decrypt/)
  await grant(own, 'decrypt')
  await bob.do('DeriveKey', request)
})

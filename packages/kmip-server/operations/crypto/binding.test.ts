import assert from 'node:assert/strict'
import { constants, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { test } from 'node:test'
import { algorithms } from '@warder/crypto'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  integer,
  type ResponseItem,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { change, query } from '@warder/storage'
import { activeSince, aesKey, inside, keyBlock, mask } from '../../testing/keys.ts'
import {
  allCryptoUses,
  data,
  hashing,
  mode,
  type modes,
  padding,
  parameters,
  startKmipFixture,
  use,
} from '../../testing/kmip-fixture.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'
import { usageLimits } from '../../testing/requests.ts'

// A key that is bound to one JOSE algorithm (RFC 7517 §4.4) is used with that algorithm alone: every binding, every use of KMIP.

const { kms, alice, registerKey } = await startKmipFixture()
const { db } = kms.environment

const setBinding = query<[string, string], unknown>(
  'UPDATE managed_object SET bound_alg = ?, version = version + 1 WHERE id = ?',
)
/** The halves of a pair, or twice the same secret key. */
interface Held {
  readonly secret: string
  readonly open: string
}
async function bind({ secret, open }: Held, alg: string | undefined): Promise<Held> {
  if (alg === undefined) return { secret, open }
  for (const id of new Set([secret, open])) await db.commit([change(setBinding, [alg, id], 1)])
  return { secret, open }
}

interface Use {
  readonly name: string
  /** Algorithms to which a key may be bound that is used so. */
  readonly by: readonly string[]
  /** @param twin another object with the same key, bound to nothing; it makes what `key` opens or verifies */
  run(key: Held, twin: Held): Promise<ResponseItem>
}

const member = (nodes: readonly TtlvNode[], tag: number) => nodes.find((node) => node.tag === tag)
const message = Buffer.from('0123456789abcdef0123456789abcdef')
const secret = randomBytes(32)
const { id: wrapped } = await alice.do('Register', [
  objectType('SymmetricKey'),
  attributes(mask('Encrypt'), activeSince),
  aesKey(secret),
])

/** KeyWrappingSpecification. */
const wrapping = (method: keyof typeof Enumeration.WrappingMethod, id: string, chosen: TtlvNode) =>
  structure(Tag.KeyWrappingSpecification, [
    enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod[method]),
    structure(method === 'MACSign' ? Tag.MACSignatureKeyInformation : Tag.EncryptionKeyInformation, [
      uid(id),
      chosen,
    ]),
  ])

function rename(node: TtlvNode, from: string, to: string): TtlvNode {
  if (node.type === 'Structure') return { ...node, value: node.value.map((inner) => rename(inner, from, to)) }
  return node.type === 'TextString' && node.value === from ? { ...node, value: to } : node
}

/** Registers an object that a twin wrapped with a block that names `key`, and unwraps it. */
async function unwrap(
  key: string,
  twin: string,
  method: 'Encrypt' | 'MACSign',
  chosen: TtlvNode,
): Promise<ResponseItem> {
  const { nodes } = await alice.do('Get', [uid(wrapped), wrapping(method, twin, chosen)])
  const block = rename(member(nodes, Tag.SymmetricKey) as TtlvNode, twin, key)
  const payload = [objectType('SymmetricKey'), attributes(mask('Encrypt'), activeSince), block]
  const clear = enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped)
  // Import unwraps, too, and it alone checks a key that came in clear.
  if (method === 'MACSign')
    return alice.ask('Import', [...payload, clear, boolean(Tag.ReplaceExisting, false)])
  const made = await alice.do('Register', payload)
  const item = await alice.ask('Get', [uid(made.id), clear])
  if (item.status === 'Success') {
    const found = member(item.payload ?? [], Tag.SymmetricKey)
    const path = [Tag.KeyBlock, Tag.KeyValue, Tag.KeyMaterial]
    assert.deepEqual(Buffer.from(inside(found, ...path)?.value as Uint8Array), secret)
  }
  return item
}

interface Encryption {
  readonly name: string
  readonly chosen: TtlvNode
  readonly by: readonly string[]
  /** Algorithms whose keys unwrap an object that was wrapped this way. */
  readonly unwrappedBy: readonly string[]
}

/** Encrypt, Decrypt, wrapping and unwrapping. */
function encryptions({ name, chosen, by, unwrappedBy }: Encryption): readonly Use[] {
  const encrypt = (id: string) => [uid(id), chosen, data(message)]
  return [
    { name: `Encrypt ${name}`, by, run: ({ open }) => alice.ask('Encrypt', encrypt(open)) },
    {
      name: `Decrypt ${name}`,
      by,
      async run(key, twin) {
        const { nodes } = await alice.do('Encrypt', encrypt(twin.open))
        const [sealed, ...rest] = [Tag.Data, Tag.IVCounterNonce, Tag.AuthenticatedEncryptionTag].map((tag) =>
          member(nodes, tag),
        )
        return alice.ask('Decrypt', [uid(key.secret), chosen, sealed, ...rest])
      },
    },
    {
      name: `wrapping ${name}`,
      by,
      run: ({ open }) => alice.ask('Get', [uid(wrapped), wrapping('Encrypt', open, chosen)]),
    },
    {
      name: `unwrapping ${name}`,
      by: unwrappedBy,
      run: (key, twin) => unwrap(key.secret, twin.open, 'Encrypt', chosen),
    },
  ]
}

/** Encrypt in two parts. */
function encryptionInParts({ name, chosen, by }: Encryption): Use {
  return {
    name: `Encrypt ${name} in parts`,
    by,
    async run({ open }) {
      const begun = await alice.ask('Encrypt', [
        uid(open),
        chosen,
        data(message),
        boolean(Tag.InitIndicator, true),
      ])
      const correlation = member(begun.payload ?? [], Tag.CorrelationValue)
      if (correlation === undefined) return begun
      const last = boolean(Tag.FinalIndicator, true)
      return alice.ask('Encrypt', [uid(open), data(Buffer.alloc(0)), correlation, last])
    },
  }
}

/** Signing and verifying of data and of wrapped objects. */
function signatures(name: string, chosen: TtlvNode, by: readonly string[]): readonly Use[] {
  const [make, check, made, given] = [
    'Sign',
    'SignatureVerify',
    Tag.SignatureData,
    Tag.SignatureData,
  ] as const
  return authentications({ name, chosen, by, make, check, made, given })
}

function macs(name: string, chosen: TtlvNode, by: readonly string[]): readonly Use[] {
  const [make, check, made, given] = ['MAC', 'MACVerify', Tag.MACData, Tag.MACData] as const
  return authentications({ name, chosen, by, make, check, made, given })
}

interface Authentication {
  readonly name: string
  readonly chosen: TtlvNode
  readonly by: readonly string[]
  readonly make: 'Sign' | 'MAC'
  readonly check: 'SignatureVerify' | 'MACVerify'
  readonly made: number
  readonly given: number
}

function authentications({ name, chosen, by, make, check, made }: Authentication): readonly Use[] {
  return [
    {
      name: `${make} ${name}`,
      by,
      run: (key) => alice.ask(make, [uid(key.secret), chosen, data(message)]),
    },
    {
      name: `${check} ${name}`,
      by,
      async run(key, twin) {
        const { nodes } = await alice.do(make, [uid(twin.secret), chosen, data(message)])
        return alice.ask(check, [uid(key.open), chosen, data(message), member(nodes, made)])
      },
    },
    {
      name: `wrapping that is authenticated by ${make} ${name}`,
      by,
      run: (key) => alice.ask('Get', [uid(wrapped), wrapping('MACSign', key.secret, chosen)]),
    },
    {
      name: `unwrapping that is verified by ${make} ${name}`,
      by,
      run: (key, twin) => unwrap(key.open, twin.secret, 'MACSign', chosen),
    },
  ]
}

const derive = (id: string, method: keyof typeof Enumeration.DerivationMethod, ...chosen: TtlvNode[]) =>
  alice.ask('DeriveKey', [
    objectType('SymmetricKey'),
    uid(id),
    enumeration(Tag.DerivationMethod, Enumeration.DerivationMethod[method]),
    structure(Tag.DerivationParameters, chosen),
    attributes(
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
      integer(Tag.CryptographicLength, 128),
      mask('Encrypt'),
      activeSince,
    ),
  ])
const derivationData = byteString(Tag.DerivationData, message)

/** Derivation with a hash, by every method that takes one. */
function derivations(hash: 'SHA_256' | 'SHA_512', by: readonly string[]): readonly Use[] {
  const chosen = [parameters(hashing(hash)), derivationData]
  const more = [byteString(Tag.Salt, message), integer(Tag.IterationCount, 1000)]
  return [
    ['HMAC', chosen] as const,
    ['HKDF', chosen] as const,
    ['NIST800_108C', chosen] as const,
    ['HASH', chosen.slice(0, 1)] as const,
    ['PBKDF2', [...chosen.slice(0, 1), ...more]] as const,
  ].map(([method, members]) => ({
    name: `DeriveKey ${method} ${hash}`,
    by,
    run: ({ secret: id }) => derive(id, method, ...members),
  }))
}

const algorithmsFor = (material: string) =>
  Object.entries(algorithms).flatMap(([name, row]) =>
    row.material === material || row.materials?.includes(material as never) === true ? [name] : [],
  )
const encrypting = (material: string) => {
  const uses = new Set(['key management', 'other key management', 'content encryption'])
  return algorithmsFor(material).filter((name) => uses.has(algorithms[name]?.use ?? ''))
}

const inMode = (
  name: keyof typeof modes,
  by: readonly string[],
  unwrappedBy = encrypting('AES'),
): Encryption => ({
  name,
  chosen: parameters(mode(name), ...(name === 'CBC' ? [padding('PKCS5')] : [])),
  by,
  unwrappedBy,
})
const aesUses: readonly Use[] = [
  encryptionInParts(inMode('GCM', ['A128GCM', 'A192GCM', 'A256GCM'])),
  encryptionInParts(inMode('NISTKeyWrap', ['A128KW', 'A192KW', 'A256KW'])),
  ...(['CBC', 'CTR'] as const).map((name) => encryptionInParts(inMode(name, []))),
  ...encryptions(inMode('GCM', ['A128GCM', 'A192GCM', 'A256GCM'])),
  ...encryptions(inMode('NISTKeyWrap', ['A128KW', 'A192KW', 'A256KW'])),
  ...(['CBC', 'ECB', 'CCM', 'AESKeyWrapPadding'] as const).flatMap((name) => encryptions(inMode(name, []))),
  ...(['CTR', 'OFB', 'CFB'] as const).flatMap((name) => encryptions(inMode(name, [], []))),
  ...encryptions({
    name: 'GCM with a tag of 12 bytes',
    chosen: parameters(mode('GCM'), integer(Tag.TagLength, 12)),
    by: [],
    unwrappedBy: encrypting('AES'),
  }).map((one) => (one.name.startsWith('Decrypt') ? { ...one, by: ['A128GCM', 'A192GCM', 'A256GCM'] } : one)),
  {
    name: 'wrapping without parameters',
    by: ['A128KW', 'A192KW', 'A256KW'],
    run: ({ open }) => alice.ask('Get', [uid(wrapped), wrapping('Encrypt', open, parameters())]),
  },
  ...macs('CMAC', parameters(mode('CMAC')), []),
  ...derivations('SHA_256', []),
  {
    name: 'DeriveKey ENCRYPT',
    by: [],
    run: ({ secret: id }) => derive(id, 'ENCRYPT', parameters(mode('ECB')), derivationData),
  },
]

const hmacUses: readonly Use[] = ([256, 384, 512] as const)
  .flatMap((bits) => macs(`HMAC SHA-${bits}`, parameters(hashing(`SHA_${bits}`)), [`HS${bits}`]))
  .concat(derivations('SHA_256', ['HS256']), derivations('SHA_512', ['HS512']))

const scheme = (name: keyof typeof Enumeration.DigitalSignatureAlgorithm) =>
  enumeration(Tag.DigitalSignatureAlgorithm, Enumeration.DigitalSignatureAlgorithm[name])
const oaep = (name: string, by: readonly string[], ...chosen: readonly TtlvNode[]): Encryption => ({
  name,
  chosen: parameters(...chosen),
  by,
  unwrappedBy: ['RSA-OAEP', 'RSA-OAEP-256'],
})
const rsaUses: readonly Use[] = [
  ...encryptions(oaep('OAEP SHA-1', ['RSA-OAEP'], padding('OAEP'), hashing('SHA_1'))),
  ...encryptions(oaep('OAEP SHA-256', ['RSA-OAEP-256'], padding('OAEP'), hashing('SHA_256'))),
  ...encryptions(oaep('OAEP SHA-512', [], padding('OAEP'), hashing('SHA_512'))),
  ...encryptions(oaep('PKCS#1 v1.5', [], padding('PKCS1V1_5'))),
  ...encryptions(oaep('AES key wrap', [], padding('None'))),
  ...([256, 384, 512] as const).flatMap((bits) => [
    ...signatures(`PKCS#1 v1.5 SHA-${bits}`, parameters(scheme(`SHA_${bits}WithRSAEncryption`)), [
      `RS${bits}`,
    ]),
    ...signatures(`PSS SHA-${bits}`, parameters(scheme('RSASSA_PSS'), hashing(`SHA_${bits}`)), [`PS${bits}`]),
  ]),
]

const ecUses: readonly Use[] = [
  ...signatures('ECDSA SHA-256', parameters(scheme('ECDSAWithSHA256')), ['ES256', 'ES256K']),
  ...signatures('ECDSA SHA-384', parameters(scheme('ECDSAWithSHA384')), ['ES384']),
  ...signatures('ECDSA SHA-512', parameters(scheme('ECDSAWithSHA512')), ['ES512']),
]
const pureUses = (alg: readonly string[]) => signatures('pure', parameters(), alg)

const agreement: Use = {
  name: 'DeriveKey AsymmetricKey',
  by: [],
  run: (key, twin) =>
    alice.ask('DeriveKey', [
      objectType('SymmetricKey'),
      uid(key.secret),
      uid(twin.open),
      enumeration(Tag.DerivationMethod, Enumeration.DerivationMethod.AsymmetricKey),
      structure(Tag.DerivationParameters, []),
      attributes(
        enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
        integer(Tag.CryptographicLength, 128),
        mask('Encrypt'),
        activeSince,
      ),
    ]),
}
const agreementWithBound: Use = {
  ...agreement,
  name: 'DeriveKey AsymmetricKey with the public key',
  run: (key, twin) => agreement.run({ ...key, secret: twin.secret }, { ...twin, open: key.open }),
}

const encapsulations = (algs: readonly string[]): readonly Use[] => [
  { name: 'Encrypt', by: [], run: ({ open }) => alice.ask('Encrypt', [uid(open)]) },
  {
    name: 'Decrypt',
    by: algs,
    async run(key, twin) {
      const made = await alice.do('Encrypt', [uid(twin.open)])
      const sent = member(made.nodes, Tag.IVCounterNonce)?.value as Uint8Array
      return alice.ask('Decrypt', [uid(key.secret), data(sent)])
    },
  },
]

/** A kind of key: the algorithms to which it may be bound, how it is made, and all its uses. */
interface Kind {
  readonly name: string
  readonly bindings: readonly string[]
  readonly uses: readonly Use[]
  make(): Promise<Held>
  /** Makes the same key, bound to nothing. */
  makeTwin?(): Promise<Held>
}

const anyUse = allCryptoUses | use.WrapKey | use.UnwrapKey | use.KeyAgreement
const everyUse = integer(Tag.CryptographicUsageMask, anyUse)
function secretKey(key: Buffer, algorithm: 'AES' | `HMAC_SHA${256 | 384 | 512}`): Kind['make'] {
  return async () => {
    const id = await registerKey(key, algorithm, everyUse)
    return { secret: id, open: id }
  }
}
function keyPair({ privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject }): Kind['make'] {
  const register = async (type: 'PrivateKey' | 'PublicKey', der: Buffer) =>
    (
      await alice.do('Register', [
        objectType(type),
        attributes(everyUse, activeSince),
        structure(Tag[type], [keyBlock(type === 'PrivateKey' ? 'PKCS_8' : 'X_509', der)]),
      ])
    ).id
  return async () => ({
    secret: await register('PrivateKey', privateKey.export({ format: 'der', type: 'pkcs8' })),
    open: await register('PublicKey', publicKey.export({ format: 'der', type: 'spki' })),
  })
}
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve })
const aesAlgorithms = (bits: number) => encrypting('AES').filter((name) => name.startsWith(`A${bits}`))
const agreeing = encrypting('EC')
const hmacKey = randomBytes(64)
const kinds: readonly Kind[] = [
  ...([128, 192, 256] as const).map((bits) => ({
    name: `AES-${bits}`,
    bindings: aesAlgorithms(bits),
    uses: aesUses,
    make: secretKey(randomBytes(bits / 8), 'AES'),
  })),
  {
    name: 'RSA',
    bindings: algorithmsFor('RSA'),
    uses: rsaUses,
    make: keyPair(generateKeyPairSync('rsa', { modulusLength: 2048 })),
  },
  ...(
    [
      ['prime256v1', ['ES256', ...agreeing]],
      ['secp384r1', ['ES384', ...agreeing]],
      ['secp521r1', ['ES512', ...agreeing]],
      ['secp256k1', ['ES256K']],
    ] as const
  ).map(([curve, bindings]) => ({
    name: curve,
    bindings,
    uses: [...ecUses, agreement, agreementWithBound],
    make: keyPair(ec(curve)),
  })),
  ...(
    [
      ['Ed25519', 'ed25519', pureUses(algorithmsFor('Ed25519'))],
      ['X25519', 'x25519', [agreement, agreementWithBound]],
      ['ML-DSA-44', 'ml-dsa-44', pureUses(algorithmsFor('ML-DSA-44'))],
      ['ML-DSA-65', 'ml-dsa-65', pureUses(algorithmsFor('ML-DSA-65'))],
      ['ML-DSA-87', 'ml-dsa-87', pureUses(algorithmsFor('ML-DSA-87'))],
      ['ML-KEM-512', 'ml-kem-512', encapsulations(algorithmsFor('ML-KEM-512'))],
      ['ML-KEM-768', 'ml-kem-768', encapsulations(algorithmsFor('ML-KEM-768'))],
      ['ML-KEM-1024', 'ml-kem-1024', encapsulations(algorithmsFor('ML-KEM-1024'))],
    ] as const
  ).map(([name, type, uses]) => ({
    name,
    bindings: algorithmsFor(name),
    uses,
    make: keyPair(generateKeyPairSync(type as 'ed25519')),
  })),
  // An HMAC key of KMIP is always bound to its hash; an AES key computes the same HMACs and has every use.
  ...([256, 384, 512] as const).map((bits) => ({
    name: `HMAC SHA-${bits}`,
    bindings: [`HS${bits}`],
    uses: hmacUses,
    make: secretKey(hmacKey, `HMAC_SHA${bits}`),
    makeTwin: secretKey(hmacKey, 'AES'),
  })),
]

test('the tested keys cover every JOSE algorithm that a key may be bound to', () => {
  assert.deepEqual(
    [...new Set(kinds.flatMap(({ bindings }) => bindings))].sort(),
    Object.keys(algorithms).sort(),
  )
})

/** Uses whose outcome is another one than that of the table. */
async function findDifferences(key: Held, twin: Held, uses: readonly Use[], alg: string | undefined) {
  const found: string[] = []
  for (const { name, by, run } of uses) {
    const { status, reason, message: told = '' } = await run(key, twin)
    const refused = reason === 'BadCryptographicParameters' && /is bound to|contradicts HMAC/.test(told)
    const right = alg === undefined || by.includes(alg) ? status === 'Success' : refused
    if (!right) found.push(`${name}: ${status} ${reason} ${told}`)
  }
  return found
}

for (const { name, bindings, uses, make, makeTwin = make } of kinds) {
  test(`${name}: a key without a bound algorithm has every use`, async () => {
    assert.deepEqual(await findDifferences(await makeTwin(), await makeTwin(), uses, undefined), [])
  })
  for (const alg of bindings) {
    test(`${name}: a key bound to ${alg} has only the uses of this algorithm`, async () => {
      assert.deepEqual(await findDifferences(await bind(await make(), alg), await makeTwin(), uses, alg), [])
    })
  }
}

const budgetRows = query<[string], { readonly reserved: number }>(
  'SELECT reserved FROM gcm_budget WHERE object_id = ?',
)

test("a wrapping that is refused because of the MAC key's algorithm does not count as a use of the wrapping key", async () => {
  const limits = usageLimits(1n)
  const limited = await registerKey(randomBytes(32), 'AES', everyUse, limits)
  const free = await registerKey(randomBytes(32), 'AES', everyUse)
  const signer = await bind(await keyPair(generateKeyPairSync('rsa', { modulusLength: 2048 }))(), 'PS256')
  const wraps = (id: string, hash: TtlvNode) =>
    structure(Tag.KeyWrappingSpecification, [
      enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.EncryptThenMACSign),
      structure(Tag.EncryptionKeyInformation, [uid(id), parameters(mode('GCM'))]),
      structure(Tag.MACSignatureKeyInformation, [uid(signer.secret), hash]),
    ])
  const other = parameters(scheme('SHA_256WithRSAEncryption'))
  for (const id of [limited, free]) {
    const told = await alice.fails('Get', [uid(wrapped), wraps(id, other)], 'BadCryptographicParameters')
    assert.match(told, /bound to PS256/)
  }
  const reserved = async () => (await db.all(budgetRows, [free]))[0]?.reserved ?? 0
  assert.equal(await reserved(), 0)
  const own = parameters(scheme('RSASSA_PSS'), hashing('SHA_256'))
  for (const id of [limited, free]) await alice.do('Get', [uid(wrapped), wraps(id, own)])
  assert.ok((await reserved()) > 0)
  await alice.fails('Get', [uid(wrapped), wraps(limited, own)], 'PermissionDenied')
})

test('a key bound to PS256 verifies only signatures with a salt of the hash length', async () => {
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const [bound, free] = [await bind(await keyPair(pair)(), 'PS256'), await keyPair(pair)()]
  const { Valid, Invalid } = Enumeration.ValidityIndicator
  for (const [saltLength, ofBound] of [
    [32, Valid],
    [20, Invalid],
  ] as const) {
    const scheme256 = { key: pair.privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }
    const signature = sign('sha256', message, scheme256)
    const asked = parameters(scheme('RSASSA_PSS'), hashing('SHA_256'))
    const payload = [asked, data(message), byteString(Tag.SignatureData, signature)]
    for (const [id, expected] of [
      [bound.open, ofBound],
      [free.open, Valid],
    ] as const) {
      const { nodes } = await alice.do('SignatureVerify', [uid(id), ...payload])
      assert.equal(member(nodes, Tag.ValidityIndicator)?.value, expected, `a salt of ${saltLength} bytes`)
    }
  }
})

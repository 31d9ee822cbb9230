import assert from 'node:assert/strict'
import {
  createCipheriv,
  createHmac,
  createSecretKey,
  generateKeyPairSync,
  randomBytes,
  sign,
} from 'node:crypto'
import { test } from 'node:test'
import { systemClock } from '@warder/base'
import type { KeyMaterial } from '@warder/crypto'
import {
  type ManagedObject,
  type NewHalf,
  newKeyObjects,
  states,
  type Usage,
  unrestricted,
  usage,
} from '@warder/keys'
import { creationChanges, type UsageLimits } from '@warder/keys/testing'
import {
  byteString,
  Enumeration,
  enumeration,
  type OperationName,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { kmipClient, uid } from '@warder/kmip-server/testing'
import fc from 'fast-check'
import { type Started, startKms, startSharedKms } from './start.ts'

const now = 1_800_000_000_000
const clock = { ...systemClock, now: () => now }

const kms = await startSharedKms({ clock })

type Sample = Pick<
  ManagedObject,
  | 'state'
  | 'activationAt'
  | 'deactivationAt'
  | 'processStartAt'
  | 'protectStopAt'
  | 'archivedAt'
  | 'disabledAt'
  | 'destructionAt'
> & {
  readonly mask: 'nothing' | 'one' | 'other' | 'both' | 'unrestricted'
  readonly usageLimits: UsageLimits | undefined
}

const moment = fc.constantFrom(undefined, now - 1000, now, now + 1000)
const seldom = fc.constantFrom(undefined, undefined, undefined, now - 1000)
const sample: fc.Arbitrary<Sample> = fc.record({
  state: fc.constantFrom(...states),
  activationAt: moment,
  deactivationAt: moment,
  processStartAt: moment,
  protectStopAt: moment,
  archivedAt: seldom,
  disabledAt: seldom,
  destructionAt: fc.constantFrom(undefined, undefined, undefined, now - 1000, now + 1000),
  mask: fc.constantFrom('nothing', 'one', 'other', 'both', 'unrestricted'),
  usageLimits: fc.constantFrom<UsageLimits | undefined>(
    undefined,
    { unit: 'Object', total: 1n, left: 0n },
    { unit: 'Object', total: 1n, left: 1n },
    { unit: 'Byte', total: 100n, left: 5n },
  ),
})

const permitted: Sample = {
  state: 'Active',
  activationAt: now - 1000,
  deactivationAt: undefined,
  processStartAt: undefined,
  protectStopAt: undefined,
  archivedAt: undefined,
  disabledAt: undefined,
  destructionAt: undefined,
  mask: 'both',
  usageLimits: undefined,
}

const data = Buffer.from('attack at dawn')
const payload = data.toString('base64url')

/** A key with the use that protects and the one that processes, asked for over both fronts. */
interface Kind {
  readonly uses: readonly [Usage, Usage]
  readonly boundAlg: string
  /** In the order of their halves: the first protects, the last processes. */
  readonly materials: readonly [KeyMaterial] | readonly [KeyMaterial, KeyMaterial]
  /** Path and body. @param kid of the half */
  rest(use: Usage, kid: string): readonly [path: string, body: object]
  kmip(use: Usage): readonly [operation: OperationName, payload: readonly TtlvNode[]]
}

const protectedHeader = (members: object): string =>
  Buffer.from(JSON.stringify(members)).toString('base64url')

const aes = Buffer.alloc(32, 1)
const iv = randomBytes(12)
const cipher: Kind = {
  uses: ['encrypt', 'decrypt'],
  boundAlg: 'A256GCM',
  materials: [{ kind: 'secret', algorithm: 'AES', bits: 256, key: createSecretKey(aes) }],
  rest(use, kid) {
    if (use === 'encrypt') return ['/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: payload }]
    const header = protectedHeader({ alg: 'dir', enc: 'A256GCM', kid })
    const [ciphertext, tag] = sealed(Buffer.from(header))
    const parts = { iv: iv.toString('base64url'), ciphertext: ciphertext.toString('base64url') }
    return [
      '/v1/crypto/decrypt',
      { protected: header, encrypted_key: '', ...parts, tag: tag.toString('base64url') },
    ]
  },
  kmip(use) {
    const parameters = structure(Tag.CryptographicParameters, [
      enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode.GCM),
    ])
    if (use === 'encrypt') return ['Encrypt', [parameters, byteString(Tag.Data, data)]]
    const [ciphertext, tag] = sealed()
    const nonce = byteString(Tag.IVCounterNonce, iv)
    const authentication = byteString(Tag.AuthenticatedEncryptionTag, tag)
    return ['Decrypt', [parameters, byteString(Tag.Data, ciphertext), nonce, authentication]]
  },
}

/** Ciphertext that the key of `cipher` made elsewhere. */
function sealed(aad = Buffer.alloc(0)): readonly [ciphertext: Buffer, tag: Buffer] {
  const encryption = createCipheriv('aes-256-gcm', aes, iv)
  encryption.setAAD(aad)
  return [Buffer.concat([encryption.update(data), encryption.final()]), encryption.getAuthTag()]
}

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ofCurve = { algorithm: 'EC', bits: 256, curve: 'P-256' } as const
const signature: Kind = {
  uses: ['sign', 'verify'],
  boundAlg: 'ES256',
  materials: [
    { kind: 'private', ...ofCurve, key: pair.privateKey },
    { kind: 'public', ...ofCurve, key: pair.publicKey },
  ],
  rest(use, kid) {
    if (use === 'sign') return ['/v1/crypto/sign', { kid, alg: 'ES256', data: payload }]
    const header = protectedHeader({ alg: 'ES256', kid })
    const made = sign('sha256', Buffer.from(`${header}.${payload}`), {
      key: pair.privateKey,
      dsaEncoding: 'ieee-p1363',
    })
    return ['/v1/crypto/verify', { protected: header, data: payload, signature: made.toString('base64url') }]
  },
  kmip(use) {
    if (use === 'sign') return ['Sign', [byteString(Tag.Data, data)]]
    const made = byteString(Tag.SignatureData, sign('sha256', data, pair.privateKey))
    return ['SignatureVerify', [byteString(Tag.Data, data), made]]
  },
}

const hmacKey = Buffer.alloc(32, 2)
const tag = createHmac('sha256', hmacKey).update(data).digest()
const mac: Kind = {
  uses: ['macGenerate', 'macVerify'],
  boundAlg: 'HS256',
  materials: [{ kind: 'secret', algorithm: 'HMAC', bits: 256, key: createSecretKey(hmacKey) }],
  rest(use, kid) {
    const request = { kid, alg: 'HS256', data: payload }
    return [
      '/v1/crypto/mac',
      use === 'macGenerate' ? request : { ...request, mac: tag.toString('base64url') },
    ]
  },
  kmip(use) {
    if (use === 'macGenerate') return ['MAC', [byteString(Tag.Data, data)]]
    return ['MACVerify', [byteString(Tag.Data, data), byteString(Tag.MACData, tag)]]
  },
}

const kinds: readonly Kind[] = [cipher, signature, mac]

function toMask({ uses: [one, other] }: Kind, mask: Sample['mask']): number {
  const both = usage[one] | usage[other]
  return { nothing: 0, one: usage[one], other: usage[other], both, unrestricted }[mask]
}

/** Ids of the halves of a new key. */
async function stored(kms: Started, kind: Kind, { mask, ...wanted }: Sample): Promise<readonly string[]> {
  const { db, seal } = kms.environment
  const halves = kind.materials.map((material) => ({ material, usageMask: toMask(kind, mask), tags: [] }))
  const made = newKeyObjects(
    { owner: 'alice', boundAlg: kind.boundAlg, now },
    halves as unknown as readonly [NewHalf],
  ).map((one) => ({ ...one, object: { ...one.object, ...wanted } }))
  await db.commit(creationChanges(db, seal, made, now))
  return made.map(({ object }) => object.id)
}

async function restPermits(kms: Started, kind: Kind, use: Usage, kid: string): Promise<boolean> {
  const [path, body] = kind.rest(use, kid)
  const { status, json, text } = await kms.user('alice').post(path, body)
  assert.ok(status === 200 || status === 422, `${use}: ${text}`)
  // Verified data was made by this key.
  if (status === 200) assert.notEqual(json.valid, false, use)
  return status === 200
}

async function kmipPermits(kms: Started, kind: Kind, use: Usage, id: string): Promise<boolean> {
  const [operation, members] = kind.kmip(use)
  const { status, payload: told = [] } = await kmipClient(kms.user('alice')).ask(operation, [
    uid(id),
    ...members,
  ])
  const validity = told.find(({ tag: member }) => member === Tag.ValidityIndicator)?.value
  if (status === 'Success') assert.notEqual(validity, Enumeration.ValidityIndicator.Invalid, use)
  return status === 'Success'
}

/** Verdicts of both fronts about the use that processes and the one that protects; a key for each front, since a use counts. */
async function agreed(kms: Started, kind: Kind, wanted: Sample): Promise<readonly string[]> {
  const [ofRest, ofKmip] = [await stored(kms, kind, wanted), await stored(kms, kind, wanted)]
  const outcomes: string[] = []
  for (const use of [...kind.uses].reverse()) {
    const half = use === kind.uses[0] ? 0 : ofRest.length - 1
    const overRest = await restPermits(kms, kind, use, ofRest[half] ?? '')
    assert.equal(await kmipPermits(kms, kind, use, ofKmip[half] ?? ''), overRest, use)
    outcomes.push(`${use} ${overRest}`)
  }
  return outcomes
}

test('REST and KMIP permit the same uses of a key, whatever its state, dates, archive, mask and limits', async () => {
  const outcomes = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...kinds), sample, async (kind, wanted) => {
      for (const outcome of await agreed(kms, kind, wanted)) outcomes.add(outcome)
    }),
    {
      numRuns: 200,
      examples: kinds.flatMap((kind): [Kind, Sample][] => [
        [kind, permitted],
        [kind, { ...permitted, disabledAt: now }],
        [kind, { ...permitted, destructionAt: now + 1000 }],
        [kind, { ...permitted, mask: 'one' }],
        [kind, { ...permitted, state: 'PreActive' }],
        [kind, { ...permitted, protectStopAt: now }],
        [kind, { ...permitted, processStartAt: now + 1000 }],
      ]),
    },
  )
  // The property is empty unless both outcomes of every use occurred.
  const expected = kinds.flatMap(({ uses }) => uses.flatMap((use) => [`${use} false`, `${use} true`]))
  assert.deepEqual([...outcomes].sort(), expected.sort())
})

test('REST and KMIP refuse the same keys that the policy does not permit, whatever their mask', async () => {
  const lists = {
    'kmip.policy_id': 'CUSTOM',
    'kmip.allowlists.aes_key_sizes': ['128'],
    'kmip.allowlists.curves': ['P-384'],
    'kmip.allowlists.algorithms': ['AES', 'EC'],
  } as const
  for (const config of [lists, { fips: true }]) {
    await using strict = await startKms({ clock, config })
    for (const kind of kinds)
      for (const mask of ['both', 'unrestricted'] as const)
        for (const outcome of await agreed(strict, kind, { ...permitted, mask }))
          assert.equal(outcome.endsWith('true'), config !== lists && mask === 'both', `${outcome}, ${mask}`)
  }
})

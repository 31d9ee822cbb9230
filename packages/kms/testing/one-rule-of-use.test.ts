import assert from 'node:assert/strict'
import { createCipheriv, createSecretKey, randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { systemClock } from '@warder/foundation/runtime'
import { Enumeration, Tag } from '@warder/kmip/tables'
import { byteString, enumeration, structure } from '@warder/kmip/ttlv'
import fc from 'fast-check'
import { type KmipClient, kmipClient, uid } from '../api/kmip/testing/index.ts'
import {
  creationChanges,
  type ManagedObject,
  newKeyObjects,
  states,
  type UsageLimits,
  unrestricted,
  usage,
} from '../keys/index.ts'
import { type Started, startKms } from './start.ts'

const now = 1_800_000_000_000
const clock = { ...systemClock, now: () => now }

let kms: Started
let kmip: KmipClient
before(async () => {
  kms = await startKms({ clock })
  kmip = kmipClient(kms.user('alice'))
})
after(() => kms[Symbol.asyncDispose]())

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
  | 'usageMask'
> & { readonly usageLimits: UsageLimits | undefined }

const moment = fc.constantFrom(undefined, now - 1000, now, now + 1000)
const sample: fc.Arbitrary<Sample> = fc.record({
  state: fc.constantFrom(...states),
  activationAt: moment,
  deactivationAt: moment,
  processStartAt: moment,
  protectStopAt: moment,
  archivedAt: fc.constantFrom(undefined, undefined, undefined, now - 1000),
  disabledAt: fc.constantFrom(undefined, undefined, undefined, now - 1000),
  destructionAt: fc.constantFrom(undefined, undefined, undefined, now - 1000, now + 1000),
  usageMask: fc.constantFrom(0, usage.encrypt, usage.decrypt, usage.encrypt | usage.decrypt, unrestricted),
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
  usageMask: usage.encrypt | usage.decrypt,
  usageLimits: undefined,
}

const data = Buffer.from('attack at dawn')
const iv = randomBytes(12)

/** Two keys alike, so that a use over one front does not take from the other's limits. */
async function stored(wanted: Sample): Promise<readonly [string, string]> {
  const { db, seal } = kms.environment
  const ids: string[] = []
  for (const _front of ['rest', 'kmip']) {
    const key = createSecretKey(Buffer.alloc(32, 1))
    const material = { kind: 'secret', algorithm: 'AES', bits: 256, key } as const
    const [made] = newKeyObjects({ owner: 'alice', boundAlg: 'A256GCM', now }, [
      { material, usageMask: 0, tags: [] },
    ])
    if (made === undefined) throw new Error('no key')
    const whole = { ...made, object: { ...made.object, ...wanted } }
    await db.commit(creationChanges(db, seal, [whole], now))
    ids.push(made.object.id)
  }
  return [ids[0] ?? '', ids[1] ?? '']
}

const parameters = structure(Tag.CryptographicParameters, [
  enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode.GCM),
])

async function restEncrypts(kid: string): Promise<boolean> {
  const request = { kid, alg: 'dir', enc: 'A256GCM', data: data.toString('base64url') }
  const { status } = await kms.user('alice').post('/v1/crypto/encrypt', request)
  assert.ok(status === 200 || status === 422, String(status))
  return status === 200
}

async function kmipEncrypts(id: string): Promise<boolean> {
  const { status } = await kmip.ask('Encrypt', [uid(id), parameters, byteString(Tag.Data, data)])
  return status === 'Success'
}

/** A JWE of the key, made once with the same material. */
async function restDecrypts(kid: string): Promise<boolean> {
  const header = Buffer.from(JSON.stringify({ alg: 'dir', enc: 'A256GCM', kid })).toString('base64url')
  const cipher = createCipheriv('aes-256-gcm', Buffer.alloc(32, 1), iv)
  cipher.setAAD(Buffer.from(header))
  const ciphertext = Buffer.concat([cipher.update(data), cipher.final()])
  const jwe = {
    protected: header,
    encrypted_key: '',
    iv: iv.toString('base64url'),
    ciphertext: ciphertext.toString('base64url'),
    tag: cipher.getAuthTag().toString('base64url'),
  }
  const { status, text } = await kms.user('alice').post('/v1/crypto/decrypt', jwe)
  assert.ok(status === 200 || status === 422, text)
  return status === 200
}

async function kmipDecrypts(id: string): Promise<boolean> {
  const cipher = createCipheriv('aes-256-gcm', Buffer.alloc(32, 1), iv)
  const ciphertext = Buffer.concat([cipher.update(data), cipher.final()])
  const { status } = await kmip.ask('Decrypt', [
    uid(id),
    parameters,
    byteString(Tag.Data, ciphertext),
    byteString(Tag.IVCounterNonce, iv),
    byteString(Tag.AuthenticatedEncryptionTag, cipher.getAuthTag()),
  ])
  return status === 'Success'
}

test('REST and KMIP permit the same uses of a key, whatever its state, dates, archive, mask and limits', async () => {
  const outcomes = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(sample, async (wanted) => {
      const [overRest, overKmip] = await stored(wanted)
      const decrypts = [await restDecrypts(overRest), await kmipDecrypts(overKmip)]
      assert.equal(decrypts[0], decrypts[1])
      const encrypts = [await restEncrypts(overRest), await kmipEncrypts(overKmip)]
      assert.equal(encrypts[0], encrypts[1])
      for (const outcome of [`decrypt ${decrypts[0]}`, `encrypt ${encrypts[0]}`])
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }),
    {
      numRuns: 150,
      examples: [
        [permitted],
        [{ ...permitted, disabledAt: now }],
        [{ ...permitted, destructionAt: now + 1000 }],
        [{ ...permitted, usageMask: usage.decrypt }],
        [{ ...permitted, state: 'PreActive' }],
      ],
    },
  )
  // The property is empty unless both outcomes of both uses occurred.
  assert.deepEqual([...outcomes.keys()].sort(), [
    'decrypt false',
    'decrypt true',
    'encrypt false',
    'encrypt true',
  ])
})

import assert from 'node:assert/strict'
import {
  createCipheriv,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  randomBytes,
  X509Certificate,
} from 'node:crypto'
import {
  boolean,
  Enumeration,
  enumeration,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import {
  AbeClient,
  activeSince,
  aesAttributes,
  attributes,
  inside,
  type KmipClient,
  keyBlock,
  keyOf,
  kmipClient,
  mask,
  objectType,
  uid,
} from '@warder/kmip-server/testing'
import { outsider } from '../../pki/testing/pki-scene.ts'
import type { Caller } from '../client.ts'
import type { Started } from '../start.ts'
import { type Group, getCaller, makeGroups, type Owner, owners } from './holders.ts'

/** An object that rights are on: a key with its versions, one half of a pair, a certificate. */
export interface Thing {
  readonly name: string
  readonly owner: Owner
  /** The id that grants are on. */
  readonly id: string
  /** The same, and ids of versions. */
  readonly ids: Set<string>
  /** Things that are found through each other: the halves of a pair, an authority and its certificates. */
  readonly family: string
  readonly kind: 'aes' | 'hmac' | 'data' | 'rsa' | 'ec' | 'public' | 'abe' | 'certificate'
  /** A comment on the object and the like: a reply with one of them reveals attributes. */
  readonly canaries: string[]
  /** A name with a right on the object that no principal has: a reply with it reveals grants. */
  readonly holder: string
  readonly secrets: Buffer[]
  readonly publicKey?: KeyObject
}

/** A ciphertext of an owner. */
export interface Sealed {
  readonly thing: Thing
  readonly mode: 'GCM' | 'CTR' | 'OFB' | 'CFB' | 'CBC' | 'ECB'
  readonly iv: Buffer
  readonly plaintext: Buffer
  readonly ciphertext: Buffer
}

/** A ciphertext in the form of a front, and its plaintext. */
export interface Token {
  readonly thing: Thing
  readonly plaintext: Buffer
  readonly jwe?: Readonly<Record<string, string>>
  readonly transit?: string
  readonly abe?: Buffer
}

export interface World {
  readonly kms: Started
  readonly things: readonly Thing[]
  readonly sealed: readonly Sealed[]
  readonly tokens: Token[]
  readonly transit: readonly { readonly name: string; readonly thing: Thing }[]
  readonly aliases: readonly string[]
  readonly groups: readonly Group[]
  /** Tags that grants name. */
  readonly tags: readonly string[]
  /** Identifiers of objects that their owner removed. */
  readonly removed: ReadonlySet<string>
  readonly authority: Thing
  readonly authorityKey: Thing
  readonly csr: string
  /** Ids of what the account of ACME has. */
  readonly acme: { credential: string; account: string }
  /** Whether the user has a right on the thing; requests are often about such things. */
  held: (user: string, thing: Thing, right?: string) => boolean
  find(name: string): Thing
  user(name: string): Caller
  kmip(name: string, version?: number): KmipClient
}

export const everyUse = mask(
  'Encrypt',
  'Decrypt',
  'MACGenerate',
  'MACVerify',
  'DeriveKey',
  'WrapKey',
  'UnwrapKey',
  'Sign',
  'Verify',
)
/** The HSM of the settings, if there is one; the owners are its administrators. */
export const hsmName = 'main'
/** The destruction of keys with this tag waits: `pending_destruction_days_by`. */
export const waitingTag = 'waits'
const modes = ['GCM', 'CTR', 'OFB', 'CFB', 'CBC', 'ECB'] as const
/** The last one is that of 3.0. */
export const forms = [
  { version: '2.1', encoding: 'ttlv' },
  { version: '2.1', encoding: 'json' },
  { version: '2.1', encoding: 'xml' },
  { version: '3.0', encoding: 'ttlv' },
] as const

/** Owners with objects of every kind, whose secrets are known to the test. */
export async function makeWorld(kms: Started, round: number): Promise<World> {
  const things: Thing[] = []
  const sealed: Sealed[] = []
  const tokens: Token[] = []
  const callers = new Map<string, Caller>()
  const clients = new Map<string, KmipClient>()
  const user = (name: string): Caller => {
    const known = callers.get(name) ?? getCaller(kms, name)
    callers.set(name, known)
    return known
  }
  const kmip = (name: string, form = 0): KmipClient => {
    const key = `${name} ${form}`
    const known = clients.get(key) ?? kmipClient(user(name), forms[form % forms.length])
    clients.set(key, known)
    return known
  }
  const post = async (owner: Owner, path: string, json: object) => {
    const answer = await user(owner).post(path, json)
    assert.equal(answer.status, 200, `${path}: ${answer.text}`)
    return answer.json
  }
  const add = async (
    thing: Omit<Thing, 'ids' | 'canaries' | 'holder' | 'owner'> & { readonly owner?: Owner },
  ): Promise<Thing> => {
    const canary = `canary-${randomBytes(12).toString('hex')}`
    const holder = `holder-${randomBytes(12).toString('hex')}`
    const made: Thing = { owner: 'alice', ...thing, canaries: [canary], holder, ids: new Set([thing.id]) }
    assert.ok(made.id, made.name)
    things.push(made)
    const comment = structure(Tag.NewAttribute, [textString(Tag.Comment, canary)])
    await kmip(made.owner).do('AddAttribute', [uid(made.id), comment])
    const granted = { unique_identifier: made.id, user_id: holder, operation_types: ['getattributes'] }
    await post(made.owner, '/access/grant', granted)
    return made
  }
  const register = async (
    name: string,
    key: Buffer,
    {
      owner = 'alice' as Owner,
      more = [] as readonly TtlvNode[],
      algorithm = 'AES' as 'AES' | 'HMAC_SHA256',
      uses = everyUse,
    } = {},
  ) => {
    const { id } = await kmip(owner).do('Register', [
      objectType('SymmetricKey'),
      attributes(uses, activeSince, ...more),
      structure(Tag.SymmetricKey, [keyBlock('Raw', key, ...keyOf(algorithm, key.length * 8))]),
    ])
    const kind = algorithm === 'AES' ? 'aes' : 'hmac'
    return add({ name, owner, id, family: name, kind, secrets: [key] })
  }
  const seal = (thing: Thing, key: Buffer, mode: (typeof modes)[number]): void => {
    const iv = randomBytes(mode === 'GCM' ? 12 : mode === 'ECB' ? 0 : 16)
    const plaintext = randomBytes(32)
    const cipher = createCipheriv(
      `aes-256-${mode.toLowerCase()}` as 'aes-256-gcm',
      key,
      mode === 'ECB' ? (null as never) : iv,
    )
    sealed.push({ thing, mode, iv, plaintext, ciphertext: cipher.update(plaintext) })
  }
  const encrypt = async (thing: Thing, alg: string, kid = thing.id): Promise<void> => {
    const plaintext = randomBytes(32)
    const request = { kid, alg, enc: 'A256GCM', data: plaintext.toString('base64url') }
    tokens.push({ thing, plaintext, jwe: await post(thing.owner, '/v1/crypto/encrypt', request) })
  }
  const importKey = async (name: string, alg: string, more: object = {}, owner: Owner = 'alice') => {
    const key = randomBytes(32)
    const body = { kty: 'oct', k: key.toString('base64url'), alg, ext: true, ...more }
    const { kid } = await post(owner, '/v1/crypto/keys', body)
    const kind = alg.startsWith('HS') ? 'hmac' : 'aes'
    return { key, thing: await add({ name, owner, id: kid, family: name, kind, secrets: [key] }) }
  }
  const makePair = async (name: string, alg: string, json: object) => {
    const made = await post('alice', '/v1/crypto/keys', { ...json, alg, ext: true })
    const format = enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.PKCS_8)
    const { nodes } = await kmip('alice').do('Get', [uid(made.kid), format])
    const node = inside(nodes.at(-1), Tag.KeyBlock, Tag.KeyValue, Tag.KeyMaterial)
    const privateKey = createPrivateKey({
      key: Buffer.from(node?.value as Uint8Array),
      format: 'der',
      type: 'pkcs8',
    })
    const jwk = privateKey.export({ format: 'jwk' })
    const parts = [jwk.d, jwk.p].flatMap((text) => (text === undefined ? [] : [text]))
    const secrets = parts.map((text) => Buffer.from(text, 'base64url'))
    const publicKey = createPublicKey(privateKey)
    const kind = jwk.kty === 'RSA' ? 'rsa' : 'ec'
    const own = await add({ name, id: made.kid, family: name, kind, secrets, publicKey })
    await add({ name: `${name} public`, id: made.kid_public, family: name, kind: 'public', secrets: [] })
    return own
  }

  // Symmetric keys.
  const open = randomBytes(32)
  const aes = await register('aes', open)
  for (const mode of modes) seal(aes, open, mode)
  // A replacement with other uses, or that can be exported, would be looser than these.
  const narrow = { uses: mask('Encrypt', 'Decrypt'), more: [boolean(Tag.Extractable, false)] }
  const hidden = randomBytes(32)
  seal(await register('hidden', hidden, narrow), hidden, 'GCM')
  const archive = randomBytes(32)
  seal(await register('encryption alone', archive, narrow), archive, 'CBC')
  const limits = structure(Tag.UsageLimits, [
    { tag: Tag.UsageLimitsTotal, type: 'LongInteger', value: 1000n },
    enumeration(Tag.UsageLimitsUnit, Enumeration.UsageLimitsUnit.Object),
  ])
  const limited = randomBytes(32)
  seal(await register('limited', limited, { more: [limits] }), limited, 'CTR')
  const archived = randomBytes(32)
  seal(await register('archived', archived), archived, 'GCM')
  const ended = randomBytes(32)
  seal(await register('ended', ended), ended, 'CBC')
  const other = randomBytes(32)
  seal(await register('other owner', other, { owner: 'carol' }), other, 'CTR')
  await register('hmac', randomBytes(32), { algorithm: 'HMAC_SHA256' })
  const bound = await importKey('bound', 'A256GCM')
  seal(bound.thing, bound.key, 'GCM')
  await encrypt(bound.thing, 'dir')
  await encrypt((await importKey('wrapping', 'A256KW')).thing, 'A256KW')
  await importKey('bound hmac', 'HS256', { ext: false })
  const rotated = await importKey('rotated', 'A256GCM')
  seal(rotated.thing, rotated.key, 'GCM')
  await encrypt(rotated.thing, 'dir')
  await post('alice', `/v1/crypto/keys/${rotated.thing.id}/rotate`, {})
  for (const { kid } of (await user('alice').get(`/v1/crypto/keys/${rotated.thing.id}/versions`)).json
    .versions)
    rotated.thing.ids.add(kid)
  const password = Buffer.from(randomBytes(16).toString('hex'))
  const { id: data } = await kmip('alice').do('Register', [
    objectType('SecretData'),
    attributes(mask('DeriveKey'), activeSince),
    structure(Tag.SecretData, [
      enumeration(Tag.SecretDataType, Enumeration.SecretDataType.Password),
      keyBlock('Raw', password),
    ]),
  ])
  await add({ name: 'data', id: data, family: 'data', kind: 'data', secrets: [password] })

  // Pairs.
  await makePair('rs256', 'RS256', { kty: 'RSA', bits: 2048 })
  const oaep = await makePair('oaep', 'RSA-OAEP-256', { kty: 'RSA', bits: 2048 })
  await encrypt(oaep, 'RSA-OAEP-256', things.find(({ name }) => name === 'oaep public')?.id)
  await makePair('es256', 'ES256', { kty: 'EC', crv: 'P-256' })
  await makePair('eddsa', 'EdDSA', { kty: 'OKP', crv: 'Ed25519' })

  // Transit.
  const transit: World['transit'][number][] = []
  const inHsm = kms.environment.config.hsm.length > 0 ? { hsm: hsmName } : undefined
  for (const [type, hsm] of [
    ...[['aes256-gcm96'] as const, ['ecdsa-p256'] as const, ['hmac'] as const],
    ...(inHsm === undefined ? [] : [['aes256-gcm96', inHsm] as const, ['ecdsa-p256', inHsm] as const]),
  ]) {
    const name = `t${round}-${hsm === undefined ? '' : 'hsm-'}${type}`
    await post('alice', `/v1/transit/keys/${name}`, { type, ...hsm })
    const { kid } = (await user('alice').get(`/v1/crypto/aliases/transit%2F${name}`)).json
    const kind = type === 'hmac' ? 'hmac' : type === 'ecdsa-p256' ? 'ec' : 'aes'
    const thing = await add({ name, id: kid, family: name, kind, secrets: [] })
    transit.push({ name, thing })
    if (kind === 'ec') {
      const { data: shown } = (await user('alice').get(`/v1/transit/keys/${name}`)).json
      thing.canaries.push(shown.keys['1'].public_key.trim().split('\n').at(-2))
    }
    if (kind !== 'aes') continue
    const plaintext = randomBytes(32)
    const { data: made } = await post('alice', `/v1/transit/encrypt/${name}`, {
      plaintext: plaintext.toString('base64'),
    })
    tokens.push({ thing, plaintext, transit: made.ciphertext })
  }

  // Keys in an HSM, whose material is not in the database.
  if (inHsm !== undefined) {
    const aesInHsm = await post('carol', '/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', ...inHsm })
    const family = 'aes in the HSM'
    const ofCarol = { name: family, owner: 'carol' as const, family, kind: 'aes' as const, secrets: [] }
    await encrypt(await add({ ...ofCarol, id: aesInHsm.kid }), 'dir')
    const name = 'ec in the HSM'
    const ec = await post('alice', '/v1/crypto/keys', { kty: 'EC', crv: 'P-256', alg: 'ES256', ...inHsm })
    const { public_jwk: key } = (await user('alice').get(`/v1/crypto/keys/${ec.kid}`)).json
    const publicKey = createPublicKey({ key, format: 'jwk' })
    await add({ name, id: ec.kid, family: name, kind: 'ec', secrets: [], publicKey })
    await add({ name: `${name}, public`, id: ec.kid_public, family: name, kind: 'public', secrets: [] })
  }

  // Attribute-based encryption.
  const abe = new AbeClient(kmip('alice'))
  const pair = await abe.pair()
  const master = await add({ name: 'abe master', id: pair.master, family: 'abe', kind: 'abe', secrets: [] })
  await add({ name: 'abe public', id: pair.publicKey, family: 'abe', kind: 'public', secrets: [] })
  const blue = await abe.user(pair.master, 'Team::Blue && Clearance::Secret')
  await add({ name: 'abe user', id: blue, family: 'abe', kind: 'abe', secrets: [] })
  const plaintext = randomBytes(32).toString('hex')
  const cipher = await abe.encrypt(pair.publicKey, 'Team::Blue && Clearance::Public', plaintext)
  tokens.push({ thing: master, plaintext: Buffer.from(plaintext), abe: cipher })

  // An authority that issues certificates of servers alone, and certificates of both owners.
  const certified = { alg: 'ES256', subject: `CN=Root ${round}, O=Acme`, days: 3650 }
  const root = await post('alice', '/v1/pki/authorities', certified)
  const below = {
    alg: 'ES256',
    subject: `CN=Issuing ${round}, O=Acme`,
    issuer: root.id,
    profiles: ['server'],
  }
  const issuing = await post('alice', '/v1/pki/authorities', { ...below, path_length: 1 })
  const authority = await add({
    name: 'authority',
    id: issuing.id,
    family: 'pki',
    kind: 'certificate',
    secrets: [],
  })
  const authorityKey = await add({
    name: 'authority key',
    id: issuing.kid,
    family: 'pki',
    kind: 'ec',
    secrets: [],
    publicKey: new X509Certificate(issuing.certificate).publicKey,
  })
  const grant = { unique_identifier: authority.id, user_id: 'carol', operation_types: ['certify'] }
  await post('alice', '/access/grant', grant)
  for (const owner of owners) {
    const { csr } = await outsider('', [`DNS:${owner}.example`])
    const path = `/v1/pki/authorities/${authority.id}/certificates`
    const { id } = await post(owner, path, { csr, profile: 'server' })
    await add({ name: `certificate of ${owner}`, owner, id, family: 'pki', kind: 'certificate', secrets: [] })
  }
  const held = await outsider('', ['DNS:held.example'])
  const issue = { csr: held.csr, profile: 'server' }
  const { id: heldId } = await post('alice', `/v1/pki/authorities/${authority.id}/certificates`, issue)
  await add({ name: 'held certificate', id: heldId, family: 'pki', kind: 'certificate', secrets: [] })
  await post('alice', `/v1/pki/certificates/${heldId}/revoke`, { reason: 'certificateHold' })

  // States, names, and an identifier whose object was removed.
  const find = (name: string): Thing =>
    things.find((thing) => thing.name === name) ?? assert.fail(`there is no ${name}`)
  const { id: dormant } = await kmip('alice').do('Create', [objectType('SymmetricKey'), aesAttributes(256)])
  await add({ name: 'dormant', id: dormant, family: 'dormant', kind: 'aes', secrets: [] })
  const waiting = await importKey('waiting', 'A256GCM', { tags: [waitingTag] })
  assert.equal((await user('alice').del(`/v1/crypto/keys/${waiting.thing.id}`)).status, 202)
  await kmip('alice').do('Archive', [uid(find('archived').id)])
  const reason = structure(Tag.RevocationReason, [
    enumeration(Tag.RevocationReasonCode, Enumeration.RevocationReasonCode.CessationOfOperation),
  ])
  await kmip('alice').do('Revoke', [uid(find('ended').id), reason])
  await post('alice', '/v1/crypto/aliases', { alias: `alias/money-${round}`, kid: find('bound').id })
  const tags = ['a', 'b'].map((team) => `team-${team}-${round}`)
  for (const [at, name] of ['aes', 'other owner', 'bound', 'rotated', 'rs256', 'hmac'].entries()) {
    const { owner, id } = find(name)
    await post(owner, `/v1/crypto/keys/${id}/tags`, { tags: [tags[at % tags.length]] })
  }
  const groups = await makeGroups({ user }, round)
  const removed = new Set<string>()
  for (const owner of owners) {
    const id = `payments-${owner}-${round}`
    await kmip(owner).do('Register', [
      objectType('SymmetricKey'),
      attributes(everyUse, activeSince, textString(Tag.UniqueIdentifier, id)),
      structure(Tag.SymmetricKey, [keyBlock('Raw', randomBytes(32), ...keyOf('AES', 256))]),
    ])
    assert.equal((await user(owner).del(`/v1/crypto/keys/${id}`)).status, 204)
    removed.add(id)
  }
  const { csr } = await outsider('CN=localhost', ['DNS:localhost'])
  const aliases = [`alias/money-${round}@alice`, ...transit.map(({ name }) => `alias/transit/${name}@alice`)]
  return {
    ...{
      kms,
      things,
      sealed,
      tokens,
      transit,
      aliases,
      groups,
      tags,
      removed,
      authority,
      authorityKey,
      csr,
      acme: { credential: '', account: '' },
    },
    ...{ held: () => false, find, user, kmip },
  }
}

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startAcme } from '@warder/authority/testing'
import { findObject, type ManagedObject, type ObjectId } from '@warder/keys'
import { Enumeration, enumeration, structure, Tag, textString } from '@warder/kmip-codec'
import { kmipClient } from '@warder/kmip-server/testing'
import { query } from '@warder/storage'
import { outsider } from '../pki/testing/pki-scene.ts'
import type { Answer } from './client.ts'

// Renewals that the primary does by itself: packages/kmip-server/renewal/records.test.ts.

type ObjectType = ManagedObject['type']

let acme: Awaited<ReturnType<typeof startAcme>>
before(async () => {
  acme = await startAcme({ config: { transit_enabled: true } })
})
after(() => acme[Symbol.asyncDispose]())

const comment = 'by rule'

/** Replaces the rules of alice: her new objects of a type get a comment, or must have it. */
async function setRules(types: { readonly get?: readonly ObjectType[]; readonly need?: ObjectType }) {
  const alice = kmipClient(acme.kms.user('alice'))
  const rule = (tag: number) => (type: ObjectType) =>
    structure(tag, [
      enumeration(Tag.ObjectType, Enumeration.ObjectType[type]),
      structure(Tag.Attributes, [textString(Tag.Comment, comment)]),
    ])
  const needed = types.need === undefined ? [] : [types.need]
  await alice.do('SetDefaults', [
    structure(Tag.DefaultsInformation, (types.get ?? []).map(rule(Tag.ObjectDefaults))),
  ])
  await alice.do('SetConstraints', [structure(Tag.Constraints, needed.map(rule(Tag.Constraint)))])
}

const ids = query<[], { readonly id: string }>('SELECT id FROM managed_object ORDER BY id')

/** The objects that are made while `act` runs. */
async function listNew(act: () => Promise<unknown>) {
  const { db } = acme.kms.environment
  const known = new Set((await db.all(ids, [])).map(({ id }) => id))
  await act()
  const made = (await db.all(ids, [])).filter(({ id }) => !known.has(id))
  return Promise.all(made.map(({ id }) => findObject(db, id as ObjectId)))
}

interface Creation {
  readonly name: string
  /** Object types that it makes; constraints are set on the last one. */
  readonly makes: readonly ObjectType[]
  /** Runs without rules. @returns the creation itself */
  prepare(): Promise<() => Promise<Answer>>
}

const alice = () => acme.kms.user('alice')
const issuing = () => `/v1/pki/authorities/${acme.authorities.issuing.id}/certificates`
let transitKeys = 0

const creations: readonly Creation[] = [
  {
    name: 'a secret key over REST',
    makes: ['SymmetricKey'],
    prepare: async () => () => alice().post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' }),
  },
  {
    name: 'a pair over REST',
    makes: ['PrivateKey', 'PublicKey'],
    prepare: async () => () => alice().post('/v1/crypto/keys', { kty: 'EC', crv: 'P-256', alg: 'ES256' }),
  },
  {
    name: 'a key of transit',
    makes: ['SymmetricKey'],
    async prepare() {
      transitKeys += 1
      return () => alice().post(`/v1/transit/keys/rules-${transitKeys}`, { type: 'aes256-gcm96' })
    },
  },
  {
    name: 'a root authority',
    makes: ['PublicKey', 'PrivateKey', 'Certificate'],
    prepare: async () => () =>
      alice().post('/v1/pki/authorities', { alg: 'ES256', subject: 'CN=Other', days: 30 }),
  },
  {
    name: 'a certificate of an authority for a new pair',
    makes: ['PublicKey', 'Certificate', 'PrivateKey'],
    prepare: async () => () => alice().post(issuing(), { alg: 'ES256', names: ['www.example'], days: 30 }),
  },
  {
    name: 'a certificate of an authority for a request',
    makes: ['Certificate'],
    async prepare() {
      const { csr } = await outsider('', ['DNS:a.example'])
      return () => alice().post(issuing(), { csr })
    },
  },
  {
    name: 'a renewed certificate',
    makes: ['Certificate'],
    async prepare() {
      const { csr } = await outsider('', ['DNS:a.example'])
      const { id } = (await alice().post(issuing(), { csr })).json
      return () => alice().post(`/v1/pki/certificates/${id}/renew`, {})
    },
  },
  {
    name: 'a certificate over ACME',
    makes: ['Certificate'],
    async prepare() {
      const account = await acme.account()
      const order = await acme.readyOrder(account)
      const { csr } = await outsider('CN=localhost', ['DNS:localhost'])
      const der = Buffer.from(csr.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64')
      return () => account.post(`${order}/finalize`, { csr: der.toString('base64url') })
    },
  },
]

for (const { name, makes, prepare } of creations) {
  test(`defaults that were set over KMIP complete ${name}`, async () => {
    await setRules({})
    const create = await prepare()
    await setRules({ get: makes })
    const made = await listNew(async () => {
      const { status, text } = await create()
      assert.ok(status < 300, text)
    })
    assert.deepEqual(
      made.map((object) => [object?.type, object?.attributes.get('Comment')]).toSorted(),
      makes.map((type) => [type, comment]).toSorted(),
    )
  })

  test(`constraints that were set over KMIP refuse ${name}, or permit it with the attributes of a default`, async () => {
    const need = makes.at(-1) as ObjectType
    await setRules({})
    const create = await prepare()
    await setRules({ need })
    const refused = await listNew(async () => {
      const { status, text } = await create()
      assert.ok(status >= 400 && status < 500, text)
      assert.match(text, /Comment is not within the constraints/)
    })
    assert.deepEqual(refused, [])
    await setRules({ need, get: [need] })
    const { status, text } = await create()
    assert.ok(status < 300, text)
  })
}

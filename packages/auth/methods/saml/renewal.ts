import { createHash, X509Certificate } from 'node:crypto'
import { failure } from '@warder/base'
import { defineOperation, del, get, type Operation, post } from '@warder/server'
import { UniqueViolation } from '@warder/storage'
import Type from 'typebox'
import { superAdmin } from '../../callers.ts'
import type { SamlServices } from './saml-realm.ts'
import { type KeptSpKey, spKeyInsertion, spKeyRemoval } from './sp-key-store.ts'
import { ensureSpKeys, newSpKey, type SpKeyParts, signingKey } from './sp-keys.ts'

const define = defineOperation<SamlServices>()
const tag = 'SAML'
const week = 7 * 86_400
const year = 365 * 86_400

const KeyReply = Type.Object({
  generation: Type.Integer(),
  certificate: Type.String(),
  sha256: Type.String({ description: 'Fingerprint of the certificate, in hex.' }),
  signs_from: Type.Integer(),
  created_at: Type.Integer(),
  state: Type.Union([Type.Literal('next'), Type.Literal('signing'), Type.Literal('previous')]),
})

function describeKey(key: KeptSpKey, signing: KeptSpKey) {
  const { generation, certificate, signsFrom, createdAt } = key
  const sha256 = createHash('sha256').update(new X509Certificate(certificate).raw).digest('hex')
  const state =
    generation === signing.generation
      ? ('signing' as const)
      : generation > signing.generation
        ? ('next' as const)
        : ('previous' as const)
  return { generation, certificate, sha256, signs_from: signsFrom, created_at: createdAt, state }
}

/** @throws failure('conflict') if the keys are files of the operator */
function requireStoredKeys({ spKeys }: SamlServices): SpKeyParts {
  if (spKeys.stored !== undefined) return spKeys.stored
  throw failure('conflict', 'The keys of the SAML service provider come from saml_sp_key_files.')
}

const errors = { 409: 'The keys come from files, or the key is in use.' }

/** Rotation of the keys of the service provider: both keys are published during the transition. */
export const renewalOperations: readonly Operation<SamlServices>[] = [
  define({
    name: 'saml.keys.list',
    reach: ['reveal public'],
    route: get('/admins/saml/keys'),
    summary: 'Keys of the SAML service provider, the newest first',
    tag,
    access: superAdmin,
    reply: Type.Array(KeyReply),
    errors,
    async act(_input, { services }) {
      const parts = requireStoredKeys(services)
      const kept = await ensureSpKeys(parts)
      const signing = signingKey(kept, parts.now())
      return kept.map((key) => describeKey(key, signing))
    },
  }),
  define({
    name: 'saml.keys.renew',
    reach: ['make object'],
    route: post('/admins/saml/keys'),
    summary: 'Generate the next key of the SAML service provider',
    description:
      'It is published in the metadata of every realm at once, and signs once identity providers have had time to read it.',
    tag,
    access: superAdmin,
    request: Type.Object({
      signs_after_seconds: Type.Optional(
        Type.Integer({ minimum: 0, maximum: year, description: 'Default: 7 days.' }),
      ),
    }),
    bodyOptional: true,
    status: 201,
    reply: KeyReply,
    errors,
    async act({ body }, context) {
      const parts = requireStoredKeys(context.services)
      const kept = await ensureSpKeys(parts)
      const now = parts.now()
      const signing = signingKey(kept, now)
      const newest = kept[0] ?? signing
      if (newest !== signing) throw failure('conflict', 'A next key already exists.')
      const { certificate, pkcs8 } = await newSpKey(now)
      const delay = (body as { signs_after_seconds?: number } | undefined)?.signs_after_seconds ?? week
      const key = { generation: newest.generation + 1, certificate, signsFrom: now + delay, createdAt: now }
      context.audit({ object: `saml_key/${key.generation}`, details: { signs_from: key.signsFrom } })
      try {
        await context.commit([spKeyInsertion(parts.seal, key, pkcs8)])
      } catch (error) {
        if (error instanceof UniqueViolation)
          throw failure('conflict', 'Another request generated the next key concurrently.')
        throw error
      } finally {
        pkcs8.fill(0)
      }
      return describeKey(key, delay === 0 ? key : signing)
    },
  }),
  define({
    name: 'saml.keys.delete',
    reach: ['end object'],
    route: del('/admins/saml/keys/{generation}'),
    summary: 'Remove a key of the SAML service provider from the metadata',
    description: 'Removes a previous key, once identity providers no longer encrypt for it, or the next key.',
    tag,
    access: superAdmin,
    pathParameters: Type.Object({ generation: Type.String({ pattern: '^[1-9][0-9]{0,8}$' }) }),
    status: 204,
    errors,
    async act({ path }, context) {
      const parts = requireStoredKeys(context.services)
      const generation = Number(path.generation)
      if (signingKey(await ensureSpKeys(parts), parts.now()).generation === generation)
        throw failure('conflict', 'This is the current signing key.')
      context.audit({ object: `saml_key/${generation}` })
      await context.commit([spKeyRemoval(generation)])
    },
  }),
]

import { readFileSync } from 'node:fs'
import { failure } from '@warder/base'
import { defineOperation, fromProbes, get, type Operation, rawReply } from '@warder/server'
import Type from 'typebox'
import { anyCaller } from './callers/access.ts'
import type { AuthServices } from './services.ts'
import { sessionIssuers } from './signing/issuer-store.ts'

/** Semantic version of the service, as `GET /public/version` answers it. */
export const version: string = (
  JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8')) as { version: string }
).version

const define = defineOperation<AuthServices>()
const tag = 'Public'
const Text = Type.String()
const KeySetReply = Type.Object({
  keys: Type.Array(Type.Object({ kty: Text, crv: Text, x: Text, y: Text, use: Text, alg: Text, kid: Text })),
})
/** If keys are ever rotated, a new key must be published for an hour before it signs. */
const cacheControl = 'public, max-age=3600'

export const publicOperations: readonly Operation<AuthServices>[] = [
  define({
    name: 'version',
    route: get('/public/version'),
    summary: 'The version of the service',
    tag,
    access: anyCaller,
    foreignParameters: fromProbes,
    replyContentType: 'text/plain; charset=utf-8',
    cors: 'any-origin',
    audited: false,
    act: () => rawReply({ raw: version, contentType: 'text/plain; charset=utf-8' }),
  }),
  define({
    name: 'jwks.session',
    route: get('/.well-known/jwks.json'),
    summary: 'Public keys of session tokens',
    tag,
    access: anyCaller,
    foreignParameters: fromProbes,
    reply: KeySetReply,
    errors: { 404: 'Publication is off (`publish_session_jwks`).' },
    cors: 'any-origin',
    cacheControl,
    audited: false,
    act(_input, { services }) {
      if (!services.config.publish_session_jwks) throw failure('not_found', 'Session keys are not published.')
      return { keys: services.sessionSigner.publicJwks }
    },
  }),
  define({
    name: 'issuers.session',
    route: get('/.well-known/session-issuers'),
    summary: 'Issuers of session tokens: of every node that shares the signing keys',
    tag,
    access: anyCaller,
    foreignParameters: fromProbes,
    reply: Type.Object({ issuers: Type.Array(Text) }),
    errors: { 404: 'Publication of the session keys is off (`publish_session_jwks`).' },
    audited: false,
    async act(_input, { services }) {
      if (!services.config.publish_session_jwks) throw failure('not_found', 'Session keys are not published.')
      return { issuers: await sessionIssuers(services.db) }
    },
  }),
  define({
    name: 'jwks.certificate',
    route: get('/.well-known/certificate-jwks.json'),
    summary: 'Public keys of certificates',
    tag,
    access: anyCaller,
    foreignParameters: fromProbes,
    reply: KeySetReply,
    errors: { 404: 'Certificate signing is not configured.' },
    cors: 'any-origin',
    cacheControl,
    audited: false,
    act(_input, { services }) {
      const signer = services.certificateSigner
      if (signer === undefined) throw failure('not_found', 'Certificate signing is not configured.')
      return { keys: signer.publicJwks }
    },
  }),
]

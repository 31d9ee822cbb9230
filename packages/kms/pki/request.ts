import { authoritySigner, exportSpki, withPkiFailures } from '@warder/authority'
import { createAccess, getChainId, requirePrincipal, UnitOfWork } from '@warder/keys'
import { basicConstraints, issueRequest, keyUsage, subjectAltName } from '@warder/pki'
import { post } from '@warder/server'
import Type from 'typebox'
import { AlgMember, NamesMember, parseNames, parseSubject, SubjectMember } from './members.ts'
import { pairFor } from './pair.ts'
import { toPem } from './pem.ts'
import { define, type PkiServices } from './services.ts'

const CertificateRequest = Type.Object({
  subject: SubjectMember,
  alg: Type.Optional(AlgMember),
  bits: Type.Optional(Type.Integer({ description: 'RSA: 2048 to 8192, default 2048.' })),
  kid: Type.Optional(
    Type.String({ maxLength: 256, description: 'An existing private key, instead of a new one.' }),
  ),
  names: Type.Optional(NamesMember),
})

/** `POST /v1/pki/requests`: creates a CSR with which an external authority certifies a local one. */
export const createRequest = define({
  name: 'pki.requests.create',
  reach: ['make object'],
  route: post('/v1/pki/requests'),
  summary: 'Create a request (PKCS#10) for a certificate of an authority, signed by an external one',
  description: 'Import the issued certificate with POST /v1/pki/authorities and the returned kid.',
  tag: 'PKI',
  access: createAccess<PkiServices>(),
  request: CertificateRequest,
  reply: Type.Object({ kid: Type.String(), csr: Type.String({ description: 'PEM' }) }),
  errors: {
    403: 'The caller may not create objects, or certify with the key.',
    404: 'No such key.',
    422: 'The key cannot sign certificates.',
  },
  async act({ body }, context) {
    const { services } = context
    const now = services.clock.now()
    const objects = new UnitOfWork(services, now)
    try {
      const { privateKey } = await pairFor(context, objects, body, 'authority')
      const spki = exportSpki(privateKey)
      const signer = authoritySigner(privateKey, { spki }, services.policy, now)
      const names = parseNames(body.names ?? [])
      const extensions = [
        basicConstraints(true),
        keyUsage(['digitalSignature', 'keyCertSign', 'cRLSign']),
        ...(names.length === 0 ? [] : [subjectAltName(names)]),
      ]
      const csr = await withPkiFailures(() =>
        issueRequest({ subject: parseSubject(body.subject), spki, extensions }, signer),
      )
      const kid = privateKey.object.id
      services.uses.note(getChainId(privateKey.object), requirePrincipal(context).name, now)
      context.audit({ object: kid })
      await objects.commit(context.commit)
      return { kid, csr: toPem('CERTIFICATE REQUEST', csr) }
    } finally {
      objects.clear()
    }
  },
})

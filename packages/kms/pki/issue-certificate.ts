import {
  type Authority,
  exportSpki,
  type IssueRequest,
  issue,
  openAuthority,
  readAlternativeNames as requestedNames,
  requireCertifiableKey,
  requirePermittedKey,
  type StoredAuthority,
  withPkiFailures,
} from '@warder/authority'
import { failure } from '@warder/base'
import { requirePrincipal, UnitOfWork } from '@warder/keys'
import { derInBase64, readCertificationRequest } from '@warder/pki'
import { type OperationContext, post } from '@warder/server'
import { UniqueViolation } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { authorityRight, requireAuthority, withCreate } from './authority-access.ts'
import {
  AlgMember,
  computeValidity,
  DaysMember,
  NamesMember,
  ProfileMember,
  parseNames,
  parseSubject,
  profileNames,
  SubjectMember,
} from './members.ts'
import { type CertifiedPair, linkToCertificate, pairFor } from './pair.ts'
import { certificatePem, publicKeyIn } from './pem.ts'
import { define, type PkiServices } from './services.ts'

const right = authorityRight('certify')

const IssueBody = Type.Object({
  csr: Type.Optional(
    Type.String({ maxLength: 65_536, description: 'PKCS#10 request, PEM; or DER in base64' }),
  ),
  public_key: Type.Optional(
    Type.String({ maxLength: 65_536, description: 'SubjectPublicKeyInfo, PEM; or DER in base64' }),
  ),
  kid: Type.Optional(Type.String({ maxLength: 256, description: 'An existing key.' })),
  alg: Type.Optional(AlgMember),
  bits: Type.Optional(Type.Integer({ description: 'RSA: 2048 to 8192, default 2048.' })),
  subject: Type.Optional(SubjectMember),
  profile: Type.Optional(ProfileMember),
  names: Type.Optional(NamesMember),
  days: Type.Optional(DaysMember),
})
export type IssueBody = Static<typeof IssueBody>

export const IssueReply = Type.Object({
  id: Type.String(),
  serial: Type.String({ description: 'Hexadecimal.' }),
  certificate: Type.String({ description: 'PEM' }),
  chain: Type.String({ description: 'The authority and its chain, PEM.' }),
  kid: Type.Optional(Type.String({ description: 'The private key, if it is in this service.' })),
})

const defaultDays = 90
/** Serial numbers are random. A collision is almost impossible and is retried. */
const attempts = 3

/** `POST /v1/pki/authorities/{id}/certificates`. */
export const issueCertificate = define({
  name: 'pki.certificates.issue',
  reach: ['make certificate', 'make object'],
  route: post('/v1/pki/authorities/{id}/certificates'),
  summary: 'Issue a certificate for a request, a public key, an existing key, or a new one',
  description:
    'Exactly one of csr, public_key, kid and alg determines the key. Subject and names come from the request unless others are given. The certificate belongs to the caller.',
  tag: 'PKI',
  access: withCreate(right),
  pathParameters: Type.Object({ id: Type.String() }),
  request: IssueBody,
  reply: IssueReply,
  errors: {
    403: 'The caller has no right to certify, or to create objects.',
    404: 'No such authority.',
    422: 'The authority cannot issue at present, or the algorithm is not supported.',
  },
  async act({ body }, context) {
    const stored = await requireAuthority(context.services, right.resolved(context))
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await withPkiFailures(() => issueFor(body, stored, context))
      } catch (error) {
        if (!(error instanceof UniqueViolation) || attempt >= attempts) throw error
      }
    }
  },
})

async function issueFor(body: IssueBody, stored: StoredAuthority, context: OperationContext<PkiServices>) {
  const { services } = context
  const now = services.clock.now()
  const objects = new UnitOfWork(services, now)
  try {
    const authority = await openAuthority(services, objects, stored, now)
    const { pair, ...asked } = await readRequested(body, context, objects)
    const owner = requirePrincipal(context).name
    const { object, serial, der } = await issue(
      services,
      objects,
      authority,
      {
        ...asked,
        ...chooseDates(authority, body.days, now),
        owner,
        by: owner,
        isPossessionShown: body.public_key === undefined,
      },
      now,
    )
    if (pair !== undefined) await linkToCertificate(services, objects, pair, { id: object.id, der, owner })
    context.audit({
      object: object.id,
      details: { authority: stored.id, serial: hex(serial), profile: asked.profile },
    })
    await objects.commit(context.commit)
    return formatIssued(authority, { id: object.id, serial, der }, asked.privateKey)
  } finally {
    objects.clear()
  }
}

/** The reply for an issued certificate. */
export function formatIssued(
  { certificate, chain }: StoredAuthority,
  { id, serial, der }: { readonly id: string; readonly serial: Uint8Array; readonly der: Uint8Array },
  kid: string | undefined,
): Static<typeof IssueReply> {
  return {
    id,
    serial: hex(serial),
    certificate: certificatePem(der),
    chain: [certificate, ...chain].map(certificatePem).join(''),
    ...(kid !== undefined && { kid }),
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** Without a number of days the default applies, as far as the authority permits it. */
export function chooseDates(
  { parsed, settings: { maxDays } }: Authority,
  days: number | undefined,
  now: number,
): Pick<IssueRequest, 'notBefore' | 'notAfter'> {
  const wanted = computeValidity(now, days ?? Math.min(defaultDays, maxDays ?? defaultDays), parsed.notBefore)
  const notAfter = days === undefined ? Math.min(wanted.notAfter, parsed.notAfter) : wanted.notAfter
  if (maxDays === undefined) return { notBefore: wanted.notBefore, notAfter }
  // Backdating does not extend the validity that the authority permits.
  const latest = Math.floor(now / 1000) * 1000
  return { notBefore: Math.max(wanted.notBefore, Math.min(latest, notAfter - maxDays * day)), notAfter }
}

const day = 86_400_000

const sources = ['csr', 'public_key', 'kid', 'alg'] as const

interface Asked
  extends Pick<IssueRequest, 'profile' | 'subject' | 'names' | 'spki' | 'privateKey' | 'publicKey'> {
  readonly pair?: CertifiedPair
}

/** @throws Failure bad_request, unsupported_algorithm; PkiError */
async function readRequested(
  body: IssueBody,
  context: OperationContext<PkiServices>,
  objects: UnitOfWork,
): Promise<Asked> {
  const { services } = context
  const given = sources.filter((name) => body[name] !== undefined)
  if (given.length !== 1)
    throw failure('bad_request', 'Exactly one of csr, public_key, kid and alg is required.')
  const { csr, public_key: publicKey } = body
  const profile = profileNames[body.profile ?? 'server']
  if (csr !== undefined) {
    // OpenSSL can load the key, since it verified the signature of the request with it.
    const request = readCertificationRequest(derInBase64(csr) ?? Buffer.from(csr, 'utf8'))
    requirePermittedKey(request.spki, services.policy, services.fips)
    const subject = body.subject === undefined ? request.subject : parseSubject(body.subject)
    const names = body.names === undefined ? requestedNames(request.extensions) : parseNames(body.names)
    return { profile, subject, names, spki: request.spki }
  }
  const subject = parseSubject(body.subject ?? '')
  const names = parseNames(body.names ?? [])
  if (publicKey !== undefined) {
    const spki = publicKeyIn(publicKey)
    requireCertifiableKey(spki, services.policy, services.fips)
    return { profile, subject, names, spki }
  }
  const pair = await pairFor(context, objects, body, 'subject')
  const { privateKey, publicKey: open } = pair
  return {
    profile,
    subject,
    names,
    spki: exportSpki(privateKey),
    privateKey: privateKey.object.id,
    ...(open !== undefined && { publicKey: open }),
    pair,
  }
}

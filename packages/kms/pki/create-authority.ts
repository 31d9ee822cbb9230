import {
  type AuthoritySettings,
  exportSpki,
  findAuthority,
  issue,
  openAuthority,
  openForIssuing,
  type StoredAuthority,
  stageAuthority,
  stageRoot,
  withPkiFailures,
} from '@warder/authority'
import { failure } from '@warder/base'
import { createAccess, requirePermittedKey, requirePrincipal, UnitOfWork } from '@warder/keys'
import { type ProfileName, parseCertificate, validatePath } from '@warder/pki'
import { type OperationContext, post } from '@warder/server'
import { retryOnGuard } from '@warder/storage'
import Type, { type Static } from 'typebox'
import { KeyRequest, stageKey } from '../rest/create-key.ts'
import { formatAddresses, SignsCrl } from './authorities.ts'
import {
  AlgMember,
  ConstraintsMember,
  computeValidity,
  DaysMember,
  ProfilesMember,
  parseConstraints,
  parseSubject,
  profileNames,
  SubjectMember,
} from './members.ts'
import { type CertifiedPair, linkToCertificate, pairFor } from './pair.ts'
import { certificatePem, certificatesIn } from './pem.ts'
import { define, type PkiServices } from './services.ts'

const AuthorityRequest = Type.Object({
  subject: Type.Optional(SubjectMember),
  alg: Type.Optional(AlgMember),
  bits: Type.Optional(Type.Integer({ description: 'RSA: 2048 to 8192, default 2048.' })),
  kid: Type.Optional(
    Type.String({ maxLength: 256, description: 'An existing private key, instead of a new one.' }),
  ),
  days: Type.Optional(DaysMember),
  issuer: Type.Optional(
    Type.String({
      maxLength: 256,
      description: 'Authority that signs the certificate; absent: it signs itself.',
    }),
  ),
  path_length: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 32,
      description: 'Maximum number of authorities below it in a path.',
    }),
  ),
  permitted_names: Type.Optional(ConstraintsMember),
  excluded_names: Type.Optional(ConstraintsMember),
  certificate: Type.Optional(
    Type.String({
      maxLength: 200_000,
      description:
        'For an import: its certificate and chain, PEM; or only the certificate, DER in base64. Requires kid or key.',
    }),
  ),
  key: Type.Optional(
    Type.Object(KeyRequest.properties, {
      description:
        'For an import: its private key, as POST /v1/crypto/keys accepts it. Key and authority are stored in one commit.',
    }),
  ),
  profiles: Type.Optional(ProfilesMember),
  max_days: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 36_500,
      description: 'Maximum validity of the certificates that it issues.',
    }),
  ),
})
type AuthorityRequest = Static<typeof AuthorityRequest>

const AuthorityReply = Type.Object({
  id: Type.String({ description: 'Identifies its revocation list in /public/certificates.' }),
  kid: Type.String(),
  certificate: Type.String({ description: 'PEM' }),
  chain: Type.String({
    description: 'The chain up to the root, nearest issuer first, PEM; empty for a root.',
  }),
  signs_crl: SignsCrl,
  crl_url: Type.Optional(
    Type.String({
      description:
        'Address in the certificates that it issues; absent while the service does not know its own address.',
    }),
  ),
  ocsp_url: Type.Optional(Type.String()),
})

const rootDays = 3650
const intermediateDays = 1825
const attempts = 3

/** `POST /v1/pki/authorities`: creates a root or a subordinate authority, or imports one whose key is here. */
export const createAuthority = define({
  name: 'pki.authorities.create',
  reach: ['make object'],
  route: post('/v1/pki/authorities'),
  summary: 'Create or import a certificate authority',
  description:
    'With `issuer` the certificate is signed by that authority, which requires the right certify on it. With `certificate` and `kid` an authority is imported; a request for an outside authority is made by POST /v1/pki/requests.',
  tag: 'PKI',
  access: createAccess<PkiServices>(),
  request: AuthorityRequest,
  reply: AuthorityReply,
  errors: {
    403: 'The caller may not create objects, or certify with the issuer or the key.',
    404: 'No such issuer or key.',
    422: 'The key cannot sign certificates, or the issuer cannot issue at present.',
  },
  async act({ body }, context) {
    const { services } = context
    // Another request may take the name at the same time.
    const authority = await retryOnGuard(attempts, () => create(body, context))
    const { id, keyId, certificate, chain, issuer } = authority
    await services.maintenance.begin(issuer, services.clock.now())
    return {
      id,
      kid: keyId,
      certificate: certificatePem(certificate),
      chain: chain.map(certificatePem).join(''),
      ...formatAddresses(services, authority),
    }
  },
})

async function create(
  body: AuthorityRequest,
  context: OperationContext<PkiServices>,
): Promise<StoredAuthority> {
  const now = context.services.clock.now()
  const objects = new UnitOfWork(context.services, now)
  try {
    const authority = await withPkiFailures(() => stageIssued(body, context, objects, now))
    context.audit({
      object: authority.id,
      details: { kid: authority.keyId, ...(body.issuer !== undefined && { issuer: body.issuer }) },
    })
    await objects.commit(context.commit)
    return authority
  } finally {
    objects.clear()
  }
}

function stageIssued(
  body: AuthorityRequest,
  context: OperationContext<PkiServices>,
  objects: UnitOfWork,
  now: number,
): Promise<StoredAuthority> {
  if (body.key !== undefined && body.certificate === undefined)
    throw failure('bad_request', 'key: is only for an import, together with certificate.')
  if (body.certificate !== undefined) return importAuthority(body, context, objects, now)
  return body.issuer === undefined
    ? root(body, context, objects, now)
    : intermediate(body, body.issuer, context, objects, now)
}

function readSettings({ profiles, max_days: maxDays }: AuthorityRequest): AuthoritySettings {
  return {
    ...(profiles !== undefined && { profiles: profiles.map((name): ProfileName => profileNames[name]) }),
    ...(maxDays !== undefined && { maxDays }),
  }
}

function constraintMembers({
  path_length: pathLength,
  permitted_names: permitted,
  excluded_names: excluded,
}: AuthorityRequest) {
  return {
    ...(pathLength !== undefined && { pathLength }),
    ...(permitted !== undefined && { permitted: parseConstraints(permitted) }),
    ...(excluded !== undefined && { excluded: parseConstraints(excluded) }),
  }
}

async function root(
  body: AuthorityRequest,
  context: OperationContext<PkiServices>,
  objects: UnitOfWork,
  now: number,
): Promise<StoredAuthority> {
  const subject = requireSubject(body)
  const owner = requirePrincipal(context).name
  const pair = await pairFor(context, objects, body, 'authority')
  const { notBefore, notAfter } = computeValidity(now, body.days ?? rootDays, 0)
  const made = await stageRoot(
    context.services,
    objects,
    {
      ...pair,
      subject,
      notBefore,
      notAfter,
      owner,
      ...constraintMembers(body),
      settings: readSettings(body),
    },
    now,
  )
  await linkToCertificate(context.services, objects, pair, { id: made.id, der: made.certificate, owner })
  return made
}

async function intermediate(
  body: AuthorityRequest,
  issuerId: string,
  context: OperationContext<PkiServices>,
  objects: UnitOfWork,
  now: number,
): Promise<StoredAuthority> {
  const { services } = context
  const subject = requireSubject(body)
  const owner = requirePrincipal(context).name
  const above = await requirePermittedKey(context, issuerId, 'certify')
  const stored = await findAuthority(services.db, above.object.id)
  if (stored === undefined) throw failure('bad_request', 'issuer: is not the certificate of an authority.')
  const issuer = await openAuthority(services, objects, stored, now)
  const pair = await pairFor(context, objects, body, 'authority')
  const spki = exportSpki(pair.privateKey)
  const defaultValidity = computeValidity(now, body.days ?? intermediateDays, issuer.parsed.notBefore)
  const notAfter =
    body.days === undefined
      ? Math.min(defaultValidity.notAfter, issuer.parsed.notAfter)
      : defaultValidity.notAfter
  const { object, der } = await issue(
    services,
    objects,
    issuer,
    {
      profile: 'authority',
      subject,
      spki,
      names: [],
      notBefore: defaultValidity.notBefore,
      notAfter,
      owner,
      by: owner,
      isPossessionShown: true,
      ...constraintMembers(body),
      ...toPairIds(pair),
    },
    now,
  )
  const chain = [issuer.certificate, ...issuer.chain]
  const keyId = pair.privateKey.object.id
  await linkToCertificate(services, objects, pair, { id: object.id, der, owner })
  return openForIssuing(services, objects, { object, der, chain, keyId, settings: readSettings(body) }, now)
}

function toPairIds({ privateKey, publicKey }: CertifiedPair) {
  return { privateKey: privateKey.object.id, ...(publicKey !== undefined && { publicKey }) }
}

async function importAuthority(
  body: AuthorityRequest,
  context: OperationContext<PkiServices>,
  objects: UnitOfWork,
  now: number,
): Promise<StoredAuthority> {
  const { kid, key, certificate = '' } = body
  if ((kid === undefined) === (key === undefined))
    throw failure('bad_request', 'kid or key: one of them is required to import an authority.')
  for (const name of [
    'subject',
    'alg',
    'issuer',
    'days',
    'path_length',
    'permitted_names',
    'excluded_names',
  ] as const)
    if (body[name] !== undefined)
      throw failure('bad_request', `${name}: is determined by the certificate; omit it.`)
  const owner = requirePrincipal(context).name
  const [der = Buffer.alloc(0), ...given] = certificatesIn(certificate)
  const chain = buildChain(der, given, now)
  const pair =
    key === undefined
      ? await pairFor(context, objects, { kid }, 'authority')
      : await importPair(key, context, objects, now)
  if (!exportSpki(pair.privateKey).equals(parseCertificate(der).spki))
    throw failure('bad_request', `${key === undefined ? 'kid' : 'key'}: does not belong to the certificate.`)
  const settings = readSettings(body)
  const made = await stageAuthority(context.services, objects, { ...pair, der, chain, settings, owner }, now)
  await linkToCertificate(context.services, objects, pair, { id: made.id, der: made.certificate, owner })
  return made
}

async function importPair(
  key: KeyRequest,
  context: OperationContext<PkiServices>,
  objects: UnitOfWork,
  now: number,
): Promise<CertifiedPair> {
  const { made, created } = await stageKey(key, context, objects, now)
  const [half] = created
  if (made === undefined || !('kind' in made) || made.kind !== 'private' || half === undefined)
    throw failure('bad_request', 'key: is not a private key.')
  const privateKey = await objects.key(half.id)
  if (privateKey === undefined) throw failure('internal_error', 'the imported key was not found')
  return { privateKey, publicKey: undefined }
}

/** The issuer certificates, in order. @throws failure('bad_request') unless they are a valid path now */
function buildChain(der: Buffer, given: readonly Buffer[], now: number): readonly Uint8Array[] {
  const { subject, issuer } = parseCertificate(der)
  const selfIssued = Buffer.from(subject).equals(issuer)
  if (!selfIssued && given.length === 0)
    throw failure('bad_request', 'certificate: must be followed by its chain up to the root.')
  const top = given.at(-1)
  const anchors = selfIssued || top === undefined ? [der] : [top]
  const question = { certificate: der, anchors, others: given, at: now, uses: ['keyCertSign'] as const }
  const { validity, reason, path } = validatePath(question)
  if (validity !== 'Valid')
    throw failure('bad_request', `certificate: ${reason ?? 'has no valid path to the last one.'}`)
  return path.slice(1)
}

function requireSubject({ subject }: AuthorityRequest): Buffer {
  if (subject === undefined) throw failure('bad_request', 'subject: is required, such as CN=Root, O=Acme.')
  return parseSubject(subject)
}

import { X509Certificate } from 'node:crypto'
import { publicAccess } from '@warder/keys'
import { parseCertificate } from '@warder/pki'
import { get, type Operation, type OperationContext, post, rawReply } from '@warder/server'
import type { Database } from '@warder/storage'
import Type from 'typebox'
import { findAuthority } from '../authority.ts'
import { listAuthorities, type StoredAuthority } from '../register/authority-store.ts'
import { findIssued, type IssuedCertificate } from '../register/register-store.ts'
import {
  accountCaller,
  byAccount,
  directoryAt,
  requirePostAsGet,
  resourceErrors,
  resourceReply,
  resourceRow,
  signedByAcme,
} from './caller.ts'
import { findCertificate, registerEntryNamed } from './certificate-store.ts'
import { type AcmeEnvironment, type AcmeServices, define } from './environment.ts'
import { acmeProblem } from './problem.ts'

const row = (environment: AcmeEnvironment) =>
  ({
    ...resourceRow(environment),
    access: signedByAcme,
    errors: resourceErrors,
    replyContentType: 'application/pem-certificate-chain',
    authenticate: byAccount(environment),
  }) as const

/** `POST …/certificate/{certificate}` (RFC 8555 §7.4.2): the certificate and its chain in PEM, with links to other chains. */
export function certificateOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...row(environment),
    name: 'acme.certificate',
    reach: ['reveal public'],
    route: post('/acme/{authority}/certificate/{certificate}'),
    summary: 'Download a certificate with its chain',
    pathParameters: Type.Object({ authority: Type.String(), certificate: Type.String() }),
    act: ({ path }, context) => download(environment, context, path.certificate, 0),
  })
}

/** `POST …/certificate/{certificate}/{chain}`: the same with another chain. */
export function alternateOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...row(environment),
    name: 'acme.certificate.alternate',
    reach: ['reveal public'],
    route: post('/acme/{authority}/certificate/{certificate}/{chain}'),
    summary: 'Download a certificate with another chain',
    pathParameters: Type.Object({
      authority: Type.String(),
      certificate: Type.String(),
      chain: Type.String({ pattern: '^[1-9][0-9]?$' }),
    }),
    act: ({ path }, context) => download(environment, context, path.certificate, Number(path.chain)),
  })
}

async function download(
  environment: AcmeEnvironment,
  context: OperationContext<AcmeServices>,
  id: string,
  wanted: number,
) {
  const caller = accountCaller(context)
  requirePostAsGet(caller)
  const { account, urls, directory } = caller
  const { db } = context.services
  const certificate = await findCertificate(db, id, account.id)
  const authority = await findAuthority(db, directory.authorityId)
  const chains = authority === undefined ? [] : await buildChains(db, authority)
  const chain = chains[wanted]
  if (certificate === undefined || chain === undefined)
    throw acmeProblem('notFound', 'The account has no such certificate.')
  const url = urls.certificate(id)
  return resourceReply(environment, urls, {
    pem: [certificate.der, ...chain].map((der) => new X509Certificate(der).toString()).join(''),
    links: chains.flatMap((_chain, index) =>
      index === wanted ? [] : [['alternate', index === 0 ? url : `${url}/${index}`] as const],
    ),
  })
}

/**
 * The chains of a certificate, the default chain first (RFC 8555 §7.4.2): the issuer and those above it without the
 * root, then the same with the root, then those of other certificates that the issuer has (cross-certificates).
 * @returns DER of the certificates above, the issuer first
 */
async function buildChains(
  db: Database,
  authority: StoredAuthority,
): Promise<readonly (readonly Uint8Array[])[]> {
  const others = await listAuthorities(db, authority.issuer)
  const all = [authority, ...others.filter(({ id }) => id !== authority.id)].flatMap(
    ({ certificate, chain }) => {
      const whole = [certificate, ...chain]
      const short = whole.filter((each, index) => index === 0 || !isRoot(each))
      return short.length === whole.length ? [whole] : [short, whole]
    },
  )
  const seen = new Set<string>()
  return all.filter((chain) => {
    const key = chain.map((each) => Buffer.from(each).toString('base64')).join()
    return !seen.has(key) && seen.add(key)
  })
}

function isRoot(der: Uint8Array): boolean {
  const { subject, issuer } = parseCertificate(der)
  return Buffer.compare(subject, issuer) === 0
}

/** Polling interval of clients (RFC 9773 §4.3). */
const askAgainSeconds = 21_600
const hour = 3_600_000

/** Suggested renewal window of a certificate. Unix milliseconds. */
function renewalWindow({
  notBefore,
  notAfter,
  revokedAt,
}: Pick<IssuedCertificate, 'notBefore' | 'notAfter' | 'revokedAt'>): {
  readonly start: number
  readonly end: number
} {
  // RFC 9773 §4.2: a window in the past means now.
  if (revokedAt !== undefined) return { start: revokedAt - 2 * hour, end: revokedAt - hour }
  const lifetime = notAfter - notBefore
  // The window begins after two thirds of the lifetime and lasts a twelfth of it. Clients choose a random time in it,
  // which spreads their requests.
  const start = notBefore + Math.floor((lifetime * 2) / 3)
  return { start, end: start + Math.floor(lifetime / 12) }
}

/** `GET …/renewal-info/{certificate}` (RFC 9773 §4). */
export function renewalInfoOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...resourceRow(environment),
    security: [],
    name: 'acme.renewal_info',
    reach: ['reveal public'],
    route: get('/acme/{authority}/renewal-info/{certificate}'),
    summary: 'Suggested time to renew a certificate',
    access: publicAccess,
    audited: false,
    pathParameters: Type.Object({ authority: Type.String(), certificate: Type.String({ maxLength: 256 }) }),
    errors: { 404: 'The authority did not issue this certificate.' },
    async act({ path }, { request, services }) {
      const { db } = services
      const { directory } = await directoryAt(environment, request)
      const authority = await findAuthority(db, directory.authorityId)
      const entry = authority && registerEntryNamed(authority, path.certificate)
      const issued = entry === undefined ? undefined : await findIssued(db, entry)
      if (issued === undefined) throw acmeProblem('notFound', 'The authority did not issue this certificate.')
      const { start, end } = renewalWindow(issued)
      return rawReply({
        json: {
          suggestedWindow: { start: new Date(start).toISOString(), end: new Date(end).toISOString() },
        },
        headers: { 'Retry-After': String(askAgainSeconds) },
      })
    },
  })
}

import type { KeyObject } from 'node:crypto'
import { Failure } from '@warder/base'
import { type AlgorithmPolicy, findCurveName, keyFacts, requirePermitted } from '@warder/crypto'
import { asObjectId, findLinkTarget, type ManagedObject, newObjectId, UnitOfWork } from '@warder/keys'
import {
  derMembers,
  extensionIdentifiers,
  generalName,
  generalNameText,
  nameFromParts,
  type ParsedKey,
  PkiError,
  publicFromSpki,
  readCertificationRequest,
  readNameParts,
  requireLoadable,
} from '@warder/pki'
import { type Operation, type OperationContext, post } from '@warder/server'
import { GuardFailed } from '@warder/storage'
import Type from 'typebox'
import { type Authority, findAuthority, openAuthority } from '../authority.ts'
import { requireNotCompromised } from '../compromised-key-store.ts'
import { issue } from '../issue.ts'
import { findIssued, registerId } from '../register/register-store.ts'
import {
  accountCaller,
  byAccount,
  payloadObject,
  resourceErrors,
  resourceReply,
  resourceRow,
  signedByAcme,
} from './caller.ts'
import { insertCertificate } from './certificate-store.ts'
import { type AcmeEnvironment, type AcmeServices, define } from './environment.ts'
import { type Identifier, identifierText } from './identifiers.ts'
import { orderObject, requireCertify } from './order.ts'
import { type Authorization, findOrder, listAuthorizations, type Order, updateOrder } from './order-store.ts'
import { acmeProblem } from './problem.ts'

/** Contents of a certificate to issue. */
interface OrderedKey {
  readonly spki: Uint8Array
  /** A name of the order that is short enough for a common name. */
  readonly commonName: string | undefined
}

/** RFC 5280 appendix A, ub-common-name */
const maxCommonNameLength = 64

/**
 * Reads a CSR. Its names must be exactly those of the order (RFC 8555 §7.4). Only its names and its key are used.
 * @param accountKey must not be the key of the CSR (RFC 8555 §11.1)
 * @throws badCSR, badPublicKey
 */
function readOrderedKey(
  value: unknown,
  identifiers: readonly Identifier[],
  accountKey: KeyObject,
): OrderedKey {
  if (typeof value !== 'string') throw acmeProblem('malformed', "The payload has no 'csr'.")
  const der = Buffer.from(value, 'base64url')
  if (der.toString('base64url') !== value) throw acmeProblem('malformed', "'csr' is not base64url.")
  const { spki, key, names, commonNames } = withBadCsr(() => readNames(der))
  if (key.equals(accountKey))
    throw acmeProblem('badPublicKey', 'The key of the account must not be used for a certificate.')
  const wanted = new Set(identifiers.map(identifierText))
  const asked = new Set([...names, ...commonNames.map((name) => identifierIn(name, identifiers))])
  const differs = asked.size !== wanted.size || [...asked].some((name) => !wanted.has(name))
  if (differs) throw acmeProblem('badCSR', 'The names of the CSR differ from those of the order.')
  const [first] = identifiers.filter(({ value: name }) => name.length <= maxCommonNameLength)
  return { spki, commonName: commonNames[0] ?? first?.value }
}

function readNames(der: Uint8Array) {
  const { spki, key, subject, extensions } = readCertificationRequest(der)
  const extension = extensions.find(({ identifier }) => identifier === extensionIdentifiers.subjectAltName)
  const elements = extension === undefined ? [] : derMembers(extension.value, 'subjectAltName')
  const names = elements.map(({ whole }) => {
    const text = generalNameText(whole)
    const [, kind, name] = /^(DNS|IP):(.*)$/.exec(text) ?? []
    if (kind === undefined || name === undefined)
      throw acmeProblem('badCSR', 'A name of the CSR is neither a DNS name nor an address.')
    return `${kind.toLowerCase()}:${name.toLowerCase()}`
  })
  const commonNames = readNameParts(subject)
    .filter(([part]) => part === 'CN')
    .map(([, name]) => name.toLowerCase())
  return { spki, key, names, commonNames }
}

function identifierIn(name: string, identifiers: readonly Identifier[]): string {
  const known = identifiers.find(({ value }) => value === name)
  return known === undefined ? `dns:${name}` : identifierText(known)
}

function withBadCsr<R>(read: () => R): R {
  try {
    return read()
  } catch (error) {
    if (error instanceof PkiError) throw acmeProblem('badCSR', error.message)
    throw error
  }
}

const day = 86_400_000
/** Certificates are backdated, since the clock of a verifier may be slow. */
const backdateMs = 3_600_000

/**
 * Chooses the validity of a certificate: that of the directory, or a shorter one if the client requests it, within the
 * validity of the authority.
 * @throws malformed when the client requests a longer validity
 */
function chooseValidity(
  { notBefore, notAfter }: Pick<Order, 'notBefore' | 'notAfter'>,
  days: number,
  { parsed, settings }: Pick<Authority, 'parsed' | 'settings'>,
  now: number,
): { readonly notBefore: number; readonly notAfter: number } {
  const maxMs = Math.min(days, settings.maxDays ?? days) * day
  const begin = notBefore ?? Math.max(now - backdateMs, parsed.notBefore)
  // If the certificate begins later, its days still count from now: the right to issue it and the control of its names
  // were checked now.
  const latest = Math.min(begin + maxMs, now + maxMs, parsed.notAfter)
  if (notBefore !== undefined && notBefore < now - backdateMs)
    throw acmeProblem('malformed', "'notBefore' of the order is in the past.")
  if (begin >= latest)
    throw acmeProblem('malformed', `'notBefore' of the order may be at most ${maxMs / day} days ahead.`)
  if (notAfter !== undefined && notAfter > latest)
    throw acmeProblem('malformed', `Certificates are issued for at most ${maxMs / day} days.`)
  return { notBefore: begin, notAfter: notAfter ?? latest }
}

/** Refuses to certify keys that the policy does not permit. @throws Failure unsupported_algorithm; PkiError */
export function requirePermittedKey(spki: Uint8Array, policy: AlgorithmPolicy, fips: boolean): ParsedKey {
  const key = publicFromSpki(spki, { fips })
  const { algorithm, bits, curve } = key
  const named = curve === undefined ? undefined : (findCurveName(curve.name) ?? curve.name)
  requirePermitted(policy, keyFacts({ algorithm, bits, curve: named }))
  return key
}

/** The same for a key that was not loaded yet: also checks that it is well-formed. @throws as `requirePermittedKey` */
export function requireCertifiableKey(spki: Uint8Array, policy: AlgorithmPolicy, fips: boolean): void {
  requireLoadable('PublicKey', requirePermittedKey(spki, policy, fips))
}

/** `POST …/order/{order}/finalize` (RFC 8555 §7.4): the certificate is issued now, and the order is valid. */
export function finalizeOperation(environment: AcmeEnvironment): Operation<AcmeServices> {
  return define({
    ...resourceRow(environment),
    name: 'acme.finalize',
    reach: ['make certificate'],
    route: post('/acme/{authority}/order/{order}/finalize'),
    summary: 'Issue the certificate of an order',
    access: signedByAcme,
    pathParameters: Type.Object({ authority: Type.String(), order: Type.String() }),
    errors: { ...resourceErrors, 500: 'The authority cannot issue certificates at present.' },
    authenticate: byAccount(environment),
    async act({ path }, context) {
      const caller = accountCaller(context)
      const { account, urls, key } = caller
      const { services } = context
      const { db, clock } = services
      const order = await findOrder(db, path.order, account.id, clock.now())
      if (order === undefined) throw acmeProblem('notFound', 'The account has no such order.')
      if (order.status !== 'ready')
        throw acmeProblem('orderNotReady', `The order is ${order.status}, not ready.`)
      const wanted = readOrderedKey(payloadObject(caller).csr, order.identifiers, key.key)
      await requireGoodKey(wanted.spki, account.owner, services)
      await requireCertify(services, caller.directory.authorityId, account.owner, { now: true })
      const parts = await listAuthorizations(db, order.id)
      await requireCaa(environment, caller, order, parts)
      const valid = await issueFor(context, caller, order, wanted)
      return resourceReply(environment, urls, {
        location: urls.order(order.id),
        json: orderObject(valid, parts, urls),
      })
    },
  })
}

/** @throws caa when the directory checks CAA records and those of a name do not permit issuance (RFC 8659) */
async function requireCaa(
  { probes }: AcmeEnvironment,
  { account, urls, directory }: ReturnType<typeof accountCaller>,
  { identifiers }: Order,
  parts: readonly Authorization[],
): Promise<void> {
  const { caaIdentities: identities = [] } = directory.settings
  const names = identifiers.filter(({ type }) => type === 'dns').map(({ value }) => value)
  if (identities.length === 0 || names.length === 0) return
  const findChallenge = (name: string) =>
    parts
      .find(
        ({ identifier, wildcard }) =>
          identifier.value === name.replace(/^\*\./, '') && wildcard === name.startsWith('*.'),
      )
      ?.challenges.find(({ status }) => status === 'valid')?.type
  const problem = await probes.caa(
    names.map((name) => ({
      identities,
      name,
      challenge: findChallenge(name),
      account: urls.account(account.id),
    })),
  )
  if (problem !== undefined) throw acmeProblem('caa', problem.detail)
}

/** Issues, stores and registers the certificate and completes the order, in one commit. */
async function issueFor(
  context: OperationContext<AcmeServices>,
  { account, directory }: ReturnType<typeof accountCaller>,
  order: Order,
  wanted: OrderedKey,
): Promise<Order> {
  const { services } = context
  const now = services.clock.now()
  const objects = new UnitOfWork(services, now)
  try {
    const stored = await findAuthority(services.db, directory.authorityId)
    if (stored === undefined) throw acmeProblem('notFound', 'The authority no longer exists.')
    const authority = await openAuthority(services, objects, stored, now)
    const { settings } = directory
    const before = await findReplacedObject(services, objects, order, account.owner)
    const issued = await issue(
      services,
      objects,
      authority,
      {
        profile: settings.profile,
        subject:
          wanted.commonName === undefined ? nameFromParts([]) : nameFromParts([['CN', wanted.commonName]]),
        spki: wanted.spki,
        names: order.identifiers.map(({ type, value }) =>
          generalName(type === 'dns' ? `DNS:${value}` : `IP:${value}`),
        ),
        ...chooseValidity(order, settings.days, authority, now),
        owner: account.owner,
        by: account.owner,
        isPossessionShown: true,
        ...(before !== undefined && { replaces: before.id }),
      },
      now,
    )
    if (before !== undefined) linkSuccessor(objects, before, issued.object.id)
    const certificate = {
      id: newObjectId(now),
      accountId: account.id,
      authorityId: authority.id,
      registerId: registerId(authority.issuer, issued.serial),
      der: issued.der,
      notAfter: issued.object.deactivationAt ?? now,
    }
    const to = { status: 'valid', certificate: certificate.id, expiresAt: certificate.notAfter } as const
    objects.also(updateOrder(order, to), insertCertificate(certificate))
    context.audit({
      details: {
        order: order.id,
        serial: Buffer.from(issued.serial).toString('hex'),
        certificate: issued.object.id,
      },
    })
    await objects.commit(context.commit)
    return { ...order, ...to }
  } catch (error) {
    throw toAcmeError(error)
  } finally {
    objects.clear()
  }
}

/** The certificate that the order replaces (RFC 9773 §5), if it exists here and was not replaced in another way. */
async function findReplacedObject(
  { db }: AcmeServices,
  objects: UnitOfWork,
  { replaces }: Order,
  owner: string,
): Promise<ManagedObject | undefined> {
  const entry = replaces === undefined ? undefined : await findIssued(db, replaces)
  // The authority alone decides about a certificate on hold.
  if (entry?.reason === 'certificateHold') return undefined
  const id = asObjectId(entry?.certificateId ?? '')
  const object = id === undefined ? undefined : await objects.read(id)
  if (object?.type !== 'Certificate' || object.owner !== owner) return undefined
  return findLinkTarget(object, 'ReplacementObjectLink') === undefined ? object : undefined
}

function linkSuccessor(objects: UnitOfWork, before: ManagedObject, successor: string): void {
  objects.update(before, { links: [...before.links, { kind: 'ReplacementObjectLink', id: successor }] })
}

/** @throws badPublicKey */
async function requireGoodKey(
  spki: Uint8Array,
  owner: string,
  { db, policy, fips }: AcmeServices,
): Promise<void> {
  try {
    requirePermittedKey(spki, policy, fips)
    await requireNotCompromised(db, spki, owner)
  } catch (error) {
    if (error instanceof PkiError || (error instanceof Failure && error.status < 500))
      throw acmeProblem('badPublicKey', error.message)
    throw error
  }
}

/** A refusal by the authority, or by the creation rules of the owner, means that the request is wrong. */
function toAcmeError(error: unknown): unknown {
  if (error instanceof GuardFailed)
    return acmeProblem('conflict', 'Another request changed the order concurrently.')
  if (error instanceof PkiError) return acmeProblem('badCSR', error.message)
  if (!(error instanceof Failure)) return error
  const violatesRules = error.members?.result_reason === 'ConstraintViolation'
  if (violatesRules || (error.kind === 'bad_request' && error.members?.type === undefined))
    return acmeProblem('badCSR', error.message)
  return error
}

import { randomUUID } from 'node:crypto'
import type { Database } from '@warder/foundation/sql'
import type { Logger, Metrics } from '@warder/foundation/telemetry'
import { decodeNode, emptyHeader, encodeNode, readResponse, writeRequest } from '@warder/kmip/messages'
import { Tag } from '@warder/kmip/tables'
import { interval, structure, textString } from '@warder/kmip/ttlv'
import { isBlocked } from '../../../access/index.ts'
import { issuedAs } from '../../../authority/index.ts'
import {
  asObjectId,
  linkedObject,
  type ManagedObject,
  readObject,
  renewalDueAt,
  renewalSettings,
} from '../../../keys/index.ts'
import type { KmipEngine } from '../engine/types.ts'
import { renewablePage } from './renewable-store.ts'

export interface RenewalOptions {
  readonly db: Database
  readonly engine: KmipEngine
  readonly log: Logger
  readonly metrics: Metrics
  /** Unix milliseconds. */
  readonly now: number
}

const pageSize = 500

/**
 * Renews the certificates that are due, and the pairs with theirs: ReCertify and ReKeyKeyPair in the name of their owners, whose rights on the issuer count as ever.
 * One that cannot be renewed is told to the log, and tried again at the next run.
 */
export async function renewDue({ db, engine, log, metrics, now }: RenewalOptions): Promise<void> {
  for (let after = ''; ; ) {
    const page = await renewablePage(db, after, pageSize)
    for (const id of page) {
      const object = await readObject(db, id)
      if (object === undefined || !(await isDue(db, object, now))) continue
      const { replacement, problem } = (await isBlocked(db, object.owner))
        ? { problem: 'its owner is blocked', replacement: undefined }
        : await replaced(engine, object)
      const outcome = replacement === undefined ? 'failed' : 'renewed'
      metrics.count('certificate_renewals_total', { outcome })
      if (replacement === undefined)
        log.warn(
          { object: id, detail: problem, until: object.deactivationAt },
          'a certificate cannot be renewed; it is tried again',
        )
      else log.info({ object: id, replacement }, 'a certificate was renewed')
    }
    if (page.length < pageSize) return
    after = page.at(-1) ?? ''
  }
}

async function isDue(db: Database, object: ManagedObject, now: number): Promise<boolean> {
  const certificate = await certificateOf(db, object)
  if (certificate?.deactivationAt === undefined || certificate.deactivationAt <= now) return false
  const due = renewalDueAt(object, certificate)
  if (due === undefined || due > now) return false
  // On hold: whoever put it there decides.
  return (await issuedAs(db, certificate.id))?.revokedAt === undefined
}

/** Is it a pair that is renewed together with its certificate? A new version of the pair alone would leave that behind. */
export async function isRenewedWithCertificate(db: Database, object: ManagedObject): Promise<boolean> {
  if (object.type !== 'PrivateKey' || !renewalSettings(object).automatic) return false
  return (await certificateOf(db, object)) !== undefined
}

/**
 * The certificate itself; of a pair the one that an authority of here gave it. undefined: there is none, or it goes with
 * its pair, which renews itself.
 */
async function certificateOf(db: Database, object: ManagedObject): Promise<ManagedObject | undefined> {
  const linked = async (from: ManagedObject, kind: string) => {
    const id = linkedObject(from, kind)
    const known = id === undefined ? undefined : asObjectId(id)
    const found = known === undefined ? undefined : await readObject(db, known)
    return found?.owner === object.owner ? found : undefined
  }
  if (object.type === 'Certificate') {
    const pair = await linked(object, 'PrivateKeyLink')
    return pair !== undefined && renewalSettings(pair).automatic ? undefined : object
  }
  const certificate = await linked(object, 'CertificateLink')
  const isCertified =
    certificate?.type === 'Certificate' && linkedObject(certificate, 'CertificateLink') !== undefined
  return isCertified ? certificate : undefined
}

/** @returns the new object, or why there is none */
async function replaced(
  engine: KmipEngine,
  { id, owner, type }: ManagedObject,
): Promise<{ readonly replacement?: string; readonly problem?: string | undefined }> {
  const named = type === 'PrivateKey' ? Tag.PrivateKeyUniqueIdentifier : Tag.UniqueIdentifier
  // Without an offset the new certificate would have the dates of the old one.
  const members = [textString(named, id), interval(Tag.Offset, 0)]
  const request = writeRequest({
    version: '2.1',
    bare: false,
    header: emptyHeader,
    items: [
      {
        operation: type === 'PrivateKey' ? 'ReKeyKeyPair' : 'ReCertify',
        uniqueBatchItemId: undefined,
        ephemeral: undefined,
        payload: structure(Tag.RequestPayload, members),
        extensions: [],
        refusal: undefined,
      },
    ],
  })
  const caller = {
    principal: { name: owner, method: 'renewal' },
    clientAddress: '-',
    requestId: randomUUID(),
  }
  const answer = await engine.answer(encodeNode(request, 'ttlv'), 'ttlv', caller)
  const [item] = readResponse(decodeNode(answer, 'ttlv')).items
  const replacement = item?.payload?.find(({ tag }) => tag === named)?.value
  return typeof replacement === 'string'
    ? { replacement }
    : { problem: item === undefined ? 'no answer' : `${item.reason} ${item.message}` }
}

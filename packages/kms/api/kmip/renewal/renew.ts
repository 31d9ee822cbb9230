import { randomUUID } from 'node:crypto'
import type { Database } from '@warder/foundation/sql'
import type { Logger, Metrics } from '@warder/foundation/telemetry'
import { decodeNode, emptyHeader, encodeNode, readResponse, writeRequest } from '@warder/kmip/messages'
import { Tag } from '@warder/kmip/tables'
import { interval, structure, textString } from '@warder/kmip/ttlv'
import { issuedAs } from '../../../authority/index.ts'
import { type ManagedObject, readObject } from '../../../keys/index.ts'
import type { KmipEngine } from '../engine/types.ts'
import { renewalDueAt } from './due.ts'
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
 * Renews the certificates that are due: ReCertify in the name of their owners, whose rights on the issuer count as ever.
 * One that cannot be renewed is told to the log, and tried again at the next run.
 */
export async function renewDue({ db, engine, log, metrics, now }: RenewalOptions): Promise<void> {
  for (let after = ''; ; ) {
    const page = await renewablePage(db, after, pageSize)
    for (const id of page) {
      const object = await readObject(db, id)
      if (object === undefined || !(await isDue(db, object, now))) continue
      const { replacement, problem } = await reCertify(engine, object)
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
  const due = renewalDueAt(object)
  if (due === undefined || due > now) return false
  if (object.deactivationAt !== undefined && object.deactivationAt <= now) return false
  // On hold: whoever put it there decides.
  return (await issuedAs(db, object.id))?.revokedAt === undefined
}

/** @returns the new certificate, or why there is none */
async function reCertify(
  engine: KmipEngine,
  { id, owner }: ManagedObject,
): Promise<{ readonly replacement?: string; readonly problem?: string | undefined }> {
  const request = writeRequest({
    version: '2.1',
    bare: false,
    header: emptyHeader,
    items: [
      {
        operation: 'ReCertify',
        uniqueBatchItemId: undefined,
        ephemeral: undefined,
        // Without an offset the new certificate would have the dates of the old one.
        payload: structure(Tag.RequestPayload, [
          textString(Tag.UniqueIdentifier, id),
          interval(Tag.Offset, 0),
        ]),
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
  const made = item?.payload?.find(({ tag }) => tag === Tag.UniqueIdentifier)?.value
  return typeof made === 'string'
    ? { replacement: made }
    : { problem: item === undefined ? 'no answer' : `${item.reason} ${item.message}` }
}

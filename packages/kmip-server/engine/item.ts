import type { AuditEvent, PreparedCommit } from '@warder/audit'
import type { Failure } from '@warder/base'
import { UnitOfWork } from '@warder/keys'
import {
  isLegacy,
  type KmipVersion,
  optional,
  type RequestItem,
  type ResponseItem,
  type StructureNode,
  Tag,
  type TtlvNode,
  tagText,
} from '@warder/kmip-codec'
import type { AuditFields } from '@warder/server'
import { type Change, GuardFailed, OutcomeUnknown } from '@warder/storage'
import { kmipFailure, toPublicFailure } from '../failure/failure.ts'
import { namesTemplates, withTemplates } from '../locate/templates.ts'
import { withoutOutputs } from './batch-results.ts'
import { itemEvents, recordItems } from './data-items.ts'
import { ItemContext } from './item-context.ts'
import type { Message } from './message.ts'
import { type KmipAnswer, type KmipOperation, WholeAnswer } from './types.ts'

/** An item with its answer and its audit events. */
export interface AnsweredItem {
  readonly response: ResponseItem
  readonly event: AuditEvent
  /** Events of the items in its data, each with its outcome. */
  readonly items: readonly AuditEvent[]
  /** The audit record of the event is already on disk. */
  readonly recorded: boolean
  /** Its outputs, including those that the client does not see. */
  readonly outputs: readonly TtlvNode[]
  /** The failure, for bare operations. */
  readonly failure: Failure | undefined
  /** true: the reply to its commit was lost, so the commit may have happened. */
  readonly unknown?: boolean
  /** Its commit, if the success was recorded before it. */
  readonly announced?: PreparedCommit | undefined
}

/** Changes that are committed together with those of a deferred item. */
export interface Settlement {
  change(response: ResponseItem): Change
  /** Is the request still pending? */
  wanted(): Promise<boolean>
}

const none: readonly TtlvNode[] = Object.freeze([])

/** Maximum attempts of an item, which restarts from its reads after a concurrent change. */
const attempts = 10

/** Executes the operation; for a 1.x request with templates, with their attributes. */
async function handleItem(
  row: KmipOperation,
  payload: StructureNode,
  context: ItemContext,
): Promise<KmipAnswer> {
  if (!isLegacy(context.version)) {
    requireNoTemplate(payload, context.version)
    return await row.act(payload, context)
  }
  if (!namesTemplates(payload)) return await row.act(payload, context)
  return await row.act(await withTemplates(payload, context), context)
}

const templateTags: ReadonlySet<number> = new Set([
  Tag.TemplateAttribute,
  Tag.CommonTemplateAttribute,
  Tag.PrivateKeyTemplateAttribute,
  Tag.PublicKeyTemplateAttribute,
])

/** 2.0 has Attributes instead: template attributes would be ignored silently. @throws InvalidField */
/** PyKMIP sends an empty one in 2.0, which has no meaning (`packages/kmip-codec/json/tolerances.ts`). */
function requireNoTemplate(payload: StructureNode, version: KmipVersion): void {
  const old = payload.value.find(
    ({ tag, value }) =>
      templateTags.has(tag) && !(version === '2.0' && Array.isArray(value) && value.length === 0),
  )
  if (old !== undefined)
    throw kmipFailure('InvalidField', `${tagText(old.tag)} exists only in KMIP 1.x: use Attributes in 2.x.`)
}

/** One item on its way through the engine. */
export class ItemRun {
  readonly item: RequestItem
  readonly #message: Message
  readonly #startedAt: number
  /** The unit of work of a batch that is committed as a whole; undefined: this item has its own commit. */
  readonly #batch: UnitOfWork | undefined
  readonly #settlement: Settlement | undefined
  readonly #placeholder: string | undefined
  #fields: AuditFields | undefined
  /** Of the last attempt. */
  #context: ItemContext | undefined
  /** The answer whose size is reserved in MaximumResponseSize. */
  #taken: ResponseItem | undefined
  #recorded = false
  /** The audit log contains the success, recorded before the commit. */
  #announced = false
  /** The prepared commit, the same in all attempts; undefined: the record names no commit. */
  #commitAnnounced: PreparedCommit | undefined
  /** Fate of the changes that failed. */
  #outcome: 'uncommitted' | 'unknown' = 'uncommitted'
  #attempt = 1

  constructor(message: Message, item: RequestItem, batch: UnitOfWork | undefined, settlement?: Settlement) {
    this.item = item
    this.#message = message
    this.#batch = batch
    this.#settlement = settlement
    this.#placeholder = message.identifiers.placeholder
    this.#startedAt = message.options.services.clock.monotonic()
  }

  /** Executes the item. Never throws: a failure becomes the answer. */
  async run(): Promise<AnsweredItem> {
    try {
      return await this.#tried()
    } catch (thrown) {
      return this.failed(thrown)
    }
  }

  async #tried(): Promise<AnsweredItem> {
    const { refusal } = this.item
    if (refusal !== undefined) throw kmipFailure(refusal.reason, refusal.message)
    for (const extension of this.item.extensions)
      if (optional(extension, Tag.CriticalityIndicator, 'Boolean') === true)
        throw kmipFailure('UnknownMessageExtension', 'A critical message extension is unknown.')
    const row = this.#message.options.operations.get(this.item.operation)
    if (row === undefined)
      throw kmipFailure('OperationNotSupported', `${this.item.operation} is not supported.`)
    return await this.#attempted(row)
  }

  async #attempted(row: KmipOperation): Promise<AnsweredItem> {
    const { services } = this.#message.options
    const now = services.clock.now()
    const objects = this.#batch ?? new UnitOfWork(services, now)
    const context = new ItemContext(this.#message, objects, now)
    this.#context = context
    try {
      const payload = this.#message.data.resolved(this.item.payload)
      await context.authorise(row.access, payload)
      const answered = this.#succeeded(await handleItem(row, payload, context), context.fields)
      if (this.#settlement !== undefined) objects.also(this.#settlement.change(answered.response))
      if (this.#batch !== undefined) await objects.requireFree()
      else if (!objects.empty) {
        await objects.requireChoosable()
        await this.#commit(objects, answered)
      }
      return { ...answered, recorded: this.#recorded }
    } catch (thrown) {
      if (!(thrown instanceof GuardFailed) || this.#batch !== undefined) throw thrown
      if (this.#settlement !== undefined && !(await this.#settlement.wanted()))
        throw kmipFailure('OperationCanceledByRequester', 'The request was cancelled.')
      if (this.#attempt >= attempts)
        throw kmipFailure('GeneralFailure', 'Another request changed it at the same time: try again.')
      this.#attempt++
      // The record on disk may name objects that only the failed attempt would have created.
      this.#recorded = false
      context.forgetItems()
      this.#takeBack()
      return await this.#attempted(row)
    } finally {
      this.#fields = context.fields
      if (this.#batch === undefined) objects.clear()
    }
  }

  /** In audit mode `reject`, writes the record of the success to disk before the change. */
  async #commit(objects: UnitOfWork, answered: AnsweredItem): Promise<void> {
    const { audit, db } = this.#message.options.services
    const changes = await objects.changes()
    if (audit.mode === 'reject' && !this.#recorded) {
      const { event, items } = answered
      const again = { details: { ...event.details, attempt: this.#attempt } }
      this.#commitAnnounced ??= await audit.commits?.begin()
      await this.announce(
        this.#attempt === 1 ? answered : { event: { ...event, ...again }, items },
        this.#commitAnnounced,
      )
      this.#recorded = true
    }
    const announced = this.#commitAnnounced
    try {
      await (announced === undefined ? db.commit(changes) : announced.commit(db.commit, changes))
    } catch (error) {
      if (error instanceof OutcomeUnknown) this.#outcome = 'unknown'
      throw error
    }
  }

  /** Writes the record of a success to disk before its commit. @param commit the prepared commit */
  async announce(
    { event, items }: Pick<AnsweredItem, 'event' | 'items'>,
    commit: PreparedCommit | undefined,
  ): Promise<void> {
    this.#commitAnnounced = commit
    const { audit } = this.#message.options.services
    const tieToCommit = (one: AuditEvent): AuditEvent =>
      commit === undefined ? one : { ...one, details: { ...one.details, commit: commit.id } }
    await audit.recordDurably(tieToCommit(event))
    if (items.length > 0) await recordItems(audit, items.map(tieToCommit))
    commit?.markPrepared()
    this.#announced = true
  }

  /** The answer to an item of a batch whose commit may have happened. */
  lost(error: OutcomeUnknown): AnsweredItem {
    this.#outcome = 'unknown'
    return this.failed(error)
  }

  #succeeded(answer: KmipAnswer, fields: AuditFields | undefined): AnsweredItem {
    this.#fields = fields
    const { operation, uniqueBatchItemId } = this.item
    const whole: ResponseItem =
      answer instanceof WholeAnswer
        ? { operation, status: 'Success', ...answer.item, uniqueBatchItemId }
        : { operation, uniqueBatchItemId, status: 'Success', payload: answer }
    const outputs = whole.payload ?? none
    const response = this.item.ephemeral === true ? { ...whole, payload: withoutOutputs(outputs) } : whole
    this.#message.room?.take(response)
    this.#taken = response
    const event = this.event(200, undefined)
    const announced = this.#commitAnnounced
    const items = this.items(event)
    return { response, event, items, recorded: false, outputs, failure: undefined, announced }
  }

  /** The answer OperationPending. */
  pending(asynchronousCorrelationValue: Uint8Array): AnsweredItem {
    const { operation, uniqueBatchItemId } = this.item
    return {
      response: { operation, uniqueBatchItemId, status: 'OperationPending', asynchronousCorrelationValue },
      event: { ...this.event(202, undefined), details: { asynchronous: 'accepted' } },
      items: [],
      recorded: false,
      outputs: none,
      failure: undefined,
    }
  }

  /** The answer to a failure. */
  failed(thrown: unknown): AnsweredItem {
    const { operation, uniqueBatchItemId } = this.item
    const { reason, message, failure } = toPublicFailure(thrown)
    this.#takeBack()
    const { log } = this.#message.options
    const about = { request_id: this.#message.caller.requestId, operation: `kmip.${operation}`, reason }
    if (failure.status >= 500) log.error({ ...about, detail: failure.detail }, 'a KMIP operation failed')
    else if (failure.detail !== undefined)
      log.info({ ...about, detail: failure.detail }, 'a KMIP operation was refused')
    const event = this.event(failure.status, reason)
    return {
      response: { operation, uniqueBatchItemId, status: 'OperationFailed', reason, message },
      event,
      items: this.items(event),
      // A second record corrects the success that was recorded before the commit.
      recorded: false,
      outputs: none,
      failure,
      unknown: this.#outcome === 'unknown',
      announced: this.#commitAnnounced,
    }
  }

  /** Discards the item's answer and placeholder. */
  #takeBack(): void {
    this.#message.identifiers.placeholder = this.#placeholder
    if (this.#taken !== undefined) this.#message.room?.give(this.#taken)
    this.#taken = undefined
  }

  /** Events of the items in the data, of which `whole` is the event. */
  items(whole: AuditEvent): readonly AuditEvent[] {
    return itemEvents(whole, this.#context?.items)
  }

  /** Event for the audit log. */
  event(status: number, reason: string | undefined): AuditEvent {
    const { caller, principal, options } = this.#message
    const { clock } = options.services
    const fields = this.#fields
    return {
      time: clock.now(),
      request_id: caller.requestId,
      operation: `kmip.${this.item.operation}`,
      principal: principal.name,
      auth_method: principal.method,
      ...(principal.realm !== undefined && { realm: principal.realm }),
      client_ip: caller.clientAddress,
      outcome: status < 400 ? 'success' : 'failure',
      status,
      duration_ms: Math.round((clock.monotonic() - this.#startedAt) * 1000) / 1000,
      ...(reason !== undefined && { reason }),
      ...fields,
      ...(status >= 400 && this.#announced && { details: { ...fields?.details, ...this.#followUp() } }),
    }
  }

  #followUp() {
    const commit = this.#commitAnnounced
    return { follows: this.#outcome, ...(commit !== undefined && { commit: commit.id }) }
  }
}

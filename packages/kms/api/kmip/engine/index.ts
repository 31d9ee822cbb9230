/**
 * The KMIP engine: processes a message from the request bytes to the response bytes.
 *
 *   decode -> credentials in the header -> for each item: row of the table -> rights -> act -> commit -> audit -> answer
 *
 * How to add an operation
 *
 * 1. Write `operations/<name>.ts` with a row:
 *
 *        export const activate: KmipOperation = {
 *          name: 'Activate',
 *          access: objectRight('activate'),          // or keyUse('encrypt'), creates, signedIn
 *          act(_payload, { object, objects, now }) {
 *            objects.update(object, transition(object, 'activate', now))
 *            return [uniqueIdentifier(object.id)]
 *          },
 *        }
 *
 * 2. Append it to the list in `operations/index.ts`. Query, DiscoverVersions, rights, audit and metrics follow.
 *
 * Input and output of `act` are in the form of KMIP 2.x, whatever the client's version. Read the payload with `required`,
 * `optional`, `optionalName` … of `@warder/kmip/ttlv` and `requiredName`, `membersWithin` of `payload.ts`: their
 * errors become MissingData, InvalidField … by themselves. Give payload members in order; `undefined` ones are left out.
 *
 * Objects: `context.object` (and `context.key`) is the one that the row's access names; it is read and the right is
 * checked. Others that the request names come from `context.permitted(id, right)`. `context.objects` is the unit of
 * work: `create`, `update`, `remove` stage, the engine commits. An item may run again from its start after a concurrent
 * change: store nothing outside the context. `context.objects.material(object)` opens the bytes: wipe them.
 *
 * Attributes without a column are nodes in the row: `readStoredAttributes(object)`, and to change them
 * `objects.update(object, attributeMembers(nodes, object))`; the same commit updates the tables that Locate searches.
 *
 * Failures: `throw kmipFailure('WrongKeyLifecycleState', 'DENIED')`, in the names of 2.1. Failures of the foundation's
 * registry get theirs from `reasons.ts`. Set `context.placeholder` when the operation makes or finds an object.
 *
 * Hot operations (keyUse) should return without a promise where they can: a cached key on SQLite is there at once.
 */

export { KmipFailure, kmipFailure } from '../failure/failure.ts'
export { creates, keyUse, objectRight, signedIn } from './access.ts'
export { namedObject, type ObjectReply, objectReply, objectRequest, uniqueIdentifier } from './identifiers.ts'
export type { KmipEngineOptions } from './message.ts'
export { type DeclaredOperation, operation } from './operation.ts'
export {
  type KmipAccess,
  type KmipAnswer,
  type KmipAnswerOptions,
  type KmipCaller,
  type KmipContext,
  type KmipEngine,
  type KmipOperation,
  WholeAnswer,
} from './types.ts'

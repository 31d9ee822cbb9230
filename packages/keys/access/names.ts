import { failure } from '@warder/base'
import { type Change, type Commit, type Database, GuardFailed } from '@warder/storage'
import { moveReservations } from '../objects/removed-id-store.ts'
import { transferAliases } from './aliases.ts'
import { membershipsEnd, membershipsTransfer } from './group-store.ts'
import { endActivationsChange } from './officer-store.ts'
import {
  accessKeysEnd,
  acmeTransfer,
  approvalsEnd,
  endUnfinished,
  grantsEnd,
  grantsTransfer,
  ownerChanges,
  someOwned,
} from './ownership-store.ts'
import { findSubject, liveSubjects, subjectEnd, subjectSeen } from './subject-store.ts'

/** Prefix of the names of deleted owners; no credential yields such a name. */
export const endedPrefix = 'ended:'

interface Parts {
  readonly db: Database
  readonly commit: Commit
  /** Unix milliseconds. */
  readonly now: () => number
  /** If grants of material require approval, the grants by tags of the former owner end. Default: false. */
  readonly approvesGrants?: boolean
}

const batch = 100
const attempts = 20
/** Max code points of the user name within the name of a deleted owner. */
const shownName = 200

/** Objects and grants that went from one user to another, or ended. */
export interface Moved {
  readonly objects: number
  readonly grants: number
}

/** Moves every object and alias of an owner, in commits of bounded size; concurrent changes take precedence. */
async function moveObjects(parts: Parts, from: string, to: string): Promise<number> {
  const { db, commit, now, approvesGrants = false } = parts
  await transferAliases(parts, from, to)
  let moved = 0
  let lost = 0
  for (;;) {
    const some = await someOwned(db, from, batch)
    if (some.length === 0) return moved
    try {
      await commit(some.flatMap((object) => ownerChanges(db, object, { from, to, approvesGrants }, now())))
      moved += some.length
      lost = 0
    } catch (error) {
      if (!(error instanceof GuardFailed) || ++lost >= attempts) throw error
    }
  }
}

/** Transfers the objects and grants of a user to another user. */
export async function transfer(parts: Parts, from: string, to: string): Promise<Moved> {
  const objects = await moveObjects(parts, from, to)
  const results = await parts.commit([
    ...grantsTransfer(from, to),
    ...membershipsTransfer(from, to),
    ...endUnfinished(from),
    ...acmeTransfer(from, to),
    moveReservations(from, to),
  ])
  return { objects, grants: results[1]?.changes ?? 0 }
}

/** The user name of the owner of an object, also if that user was deleted. */
export function toBearerName(owner: string): string {
  return owner.startsWith(endedPrefix) ? owner.slice(endedPrefix.length, owner.lastIndexOf(':')) : owner
}

/** Formats the owner name under which the objects of a deleted user remain. */
export function formerOwnerName(name: string, subjectId: string): string {
  const cut = [...name].slice(0, shownName).join('')
  return `${endedPrefix}${cut}:${subjectId}`
}

/**
 * Ends all that is not an object, so that the next user of the name inherits nothing: grants, memberships of groups,
 * unfinished work, the activation as a crypto officer, votes and requests for approval, accounts of ACME, access keys for
 * AWS KMS.
 */
function bearerEnd(name: string, subjectId: string, now: number): Change[] {
  const left = formerOwnerName(name, subjectId)
  return [
    ...grantsEnd(name),
    ...membershipsEnd(name),
    ...endUnfinished(name),
    ...approvalsEnd(name),
    ...acmeTransfer(name, left),
    accessKeysEnd(name, left),
    moveReservations(name, left),
    endActivationsChange(name, left, now),
    subjectEnd(name, subjectId, now),
  ]
}

/**
 * Ends the name of a deleted user: no principal can use the user's objects until they are transferred, and the user's
 * grants end. Does nothing when that was done before, or when another user has the name by now.
 * @returns counts of revoked items; undefined = nothing was done
 */
export async function endName(parts: Parts, name: string, subjectId: string): Promise<Moved | undefined> {
  const { db, commit, now } = parts
  if (typeof (await findSubject(db, name, subjectId))?.ended_at === 'number') return undefined
  const others = (await liveSubjects(db, name)).filter(({ subject_id }) => subject_id !== subjectId)
  if (others.length > 0) {
    await commit([subjectEnd(name, subjectId, now())])
    return undefined
  }
  const objects = await moveObjects(parts, name, formerOwnerName(name, subjectId))
  const results = await commit(bearerEnd(name, subjectId, now()))
  return { objects, grants: results[0]?.changes ?? 0 }
}

/** Separates the users of a name from earlier users of the same name. */
export interface Names {
  /**
   * Assigns the name to this subject from now on; all that belonged to an earlier subject of the name is ended first.
   * @throws failure('unauthorized') for a subject that no longer has the name
   */
  claim(name: string, subjectId: string): Promise<void>
}

const maxSubjectIdLength = 128

export function createNames(parts: Parts): Names {
  const { db, commit, now } = parts

  async function claimAnew(name: string, subjectId: string): Promise<void> {
    for (const { subject_id: earlier } of await liveSubjects(db, name)) {
      if (earlier === subjectId) continue
      await moveObjects(parts, name, formerOwnerName(name, earlier))
      await commit(bearerEnd(name, earlier, now()))
    }
    await commit([subjectSeen(name, subjectId, now())])
  }

  return {
    async claim(name, subjectId) {
      if (subjectId.length > maxSubjectIdLength)
        throw failure('unauthorized', undefined, { detail: 'the subject id is too long' })
      const row = await findSubject(db, name, subjectId)
      if (row === undefined) await claimAnew(name, subjectId)
      else if (row.ended_at !== null)
        throw failure('unauthorized', undefined, { detail: 'the user of this name was deleted' })
    },
  }
}

import { timingSafeEqual } from 'node:crypto'
import { Secret, StartupError } from '@warder/base'
import { computeCheck, parseShare, type Share } from './share.ts'
import { describeSet, isShareName, type ShareSet, shortId } from './share-set.ts'

/** Why a share was refused. */
export type ShareProblem = 'malformed' | 'other_set' | 'repeated' | 'forged'

export type ShareOutcome =
  | { readonly accepted: true; readonly number: number }
  | { readonly accepted: false; readonly problem: ShareProblem; readonly message: string }

/**
 * The shares of one set that holders have entered. They stay in memory. A share is stored if it matches its verification
 * value, one for each number, so that no other input can replace it.
 */
export class ShareCollection {
  readonly set: ShareSet
  readonly #values = new Map<number, Buffer>()

  constructor(set: ShareSet) {
    this.set = set
  }

  get entered(): number {
    return this.#values.size
  }

  /** Names of the holders whose shares were entered. */
  get holders(): readonly string[] {
    return [...this.#values.keys()]
      .sort((a, b) => a - b)
      .map((number) => this.set.holders[number - 1]?.name ?? '')
  }

  get isComplete(): boolean {
    return this.#values.size >= this.set.threshold
  }

  /** @param text the line of the share alone */
  add(text: string): ShareOutcome {
    const share = parseShare(text)
    if (share === undefined)
      return refuseShare(
        'malformed',
        'This is not a whole share: it was mistyped or cut off, or it is still encrypted. A share is one line that begins with warder-share-1.',
      )
    try {
      return this.#addParsed(share)
    } finally {
      share.payload.fill(0)
    }
  }

  #addParsed({ setId, number, installation, value, payload }: Share): ShareOutcome {
    const { id, holders } = this.set
    if (setId !== id)
      return refuseShare(
        'other_set',
        `This share is of set ${shortId(setId)}${isShareName(installation) ? ` of ${installation}` : ''}: enter one of set ${describeSet(this.set)}.`,
      )
    const check = Buffer.from(holders[number - 1]?.check ?? '', 'base64url')
    const own = computeCheck(payload)
    if (check.length !== own.length || !timingSafeEqual(check, own))
      return refuseShare(
        'forged',
        `This share has the header of set ${shortId(id)}, but it is not share ${number} that was made for it: it was changed or forged.`,
      )
    if (this.#values.has(number))
      return refuseShare(
        'repeated',
        `Share ${number} was entered before: a share of another holder is needed.`,
      )
    this.#values.set(number, Buffer.from(value))
    return { accepted: true, number }
  }

  /** Removes a share, so that it can be entered again. */
  remove(number: number): void {
    this.#values.get(number)?.fill(0)
    this.#values.delete(number)
  }

  /** Combines the secret of the set, which the caller must wipe. @throws StartupError when shares are missing */
  async combine(): Promise<Secret> {
    const { threshold } = this.set
    if (!this.isComplete) throw new StartupError(`${threshold - this.entered} more shares are needed`)
    const { joinParts } = await import('@warder/crypto')
    const parts = [...this.#values].map(([identifier, bytes]) => ({ identifier, bytes }))
    return new Secret(
      joinParts({
        method: 'PolynomialSharingGF28',
        threshold,
        parts: parts.slice(0, threshold),
        primeFieldSize: undefined,
        length: undefined,
      }),
    )
  }

  /** Forgets all shares. */
  wipe(): void {
    for (const value of this.#values.values()) value.fill(0)
    this.#values.clear()
  }
}

function refuseShare(problem: ShareProblem, message: string): ShareOutcome {
  return { accepted: false, problem, message }
}

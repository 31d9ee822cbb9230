/** What becomes of an object when its waiting destruction is carried out. */
export type DestructionManner =
  /** Nothing is left of it (REST). */
  | 'remove'
  /** Its material is gone, its attributes stay (KMIP 2.1 §6.1.15). */
  | 'destroy'

/** A destruction that somebody asked for and that waits. */
export interface PendingDestruction {
  /** Unix milliseconds. */
  readonly askedAt: number
  /** Who asked; their rights were checked then. */
  readonly by: string
  readonly manner: DestructionManner
  /** Milliseconds that the service has to have run, as it counts them (`running-time-store.ts`), before it is carried out. */
  readonly afterRunMs: number
  /** What was announced: nothing yet, that it waits, that it is near. */
  readonly announced: 0 | 1 | 2
}

/** What takes an object out of use until somebody undoes it, whatever its state. Unix milliseconds. */
export interface Withholding {
  /** Set while somebody has disabled it. */
  readonly disabledAt: number | undefined
  /** The moment before which its destruction is not carried out; set while one waits. */
  readonly destructionAt: number | undefined
  readonly destruction: PendingDestruction | undefined
}

/** Why an object is used for nothing at all and gives its material to nobody. */
export type Withheld = 'awaits destruction' | 'archived' | 'disabled'

/** undefined: nothing withholds it. What is destroyed is not withheld: it is gone. */
export function withheld({
  archivedAt,
  disabledAt,
  destructionAt,
  destroyedAt,
}: Withholding & {
  readonly archivedAt: number | undefined
  readonly destroyedAt: number | undefined
}): Withheld | undefined {
  if (destroyedAt !== undefined) return undefined
  if (destructionAt !== undefined) return 'awaits destruction'
  if (archivedAt !== undefined) return 'archived'
  return disabledAt === undefined ? undefined : 'disabled'
}

/** One sentence for the caller about each. */
export const withheldSentences: Readonly<Record<Withheld, string>> = {
  'awaits destruction': 'The key waits for its destruction: it is used for nothing unless it is restored.',
  archived: 'The key is archived: it has to be recovered first.',
  disabled: 'The key is disabled: it is used for nothing until it is enabled.',
}

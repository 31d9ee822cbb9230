import { Status } from '../../../parts/status.tsx'
import { texts } from '../../../texts.ts'

const words = texts.keys.states

/** What decides whether a key, or a version of one, can be used. */
interface Stateful {
  readonly state: string
  readonly disabled_at?: string
  readonly destruction_at?: string
}

/** The state in a word; that a key is disabled or waits for its destruction precedes its state in the life cycle. */
export function describeState({ state, disabled_at: disabled, destruction_at: waits }: Stateful): string {
  if (waits !== undefined) return words.waiting
  if (disabled !== undefined) return words.disabled
  return Object.hasOwn(words, state) ? words[state as keyof typeof words] : state
}

const kinds: Readonly<Record<string, 'good' | 'warning' | 'danger' | 'neutral'>> = {
  ...{ [words.Active]: 'good', [words.PreActive]: 'neutral', [words.Deactivated]: 'warning' },
  ...{ [words.disabled]: 'warning', [words.waiting]: 'danger', [words.Compromised]: 'danger' },
}

export function KeyState({ of: key }: { readonly of: Stateful }) {
  const text = describeState(key)
  return <Status kind={kinds[text] ?? 'neutral'}>{text}</Status>
}

import { useSyncExternalStore } from 'react'
import { texts } from '../texts.ts'

interface Toast {
  readonly id: number
  readonly text: string
  readonly kind: 'success' | 'danger'
}

const maxToasts = 4
const shownMs = 8000
let toasts: readonly Toast[] = []
let lastId = 0
const listeners = new Set<() => void>()

function set(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

const dismiss = (id: number): void => set(toasts.filter((toast) => toast.id !== id))

/** Tells the user of something that happened; errors stay until they are dismissed. */
export function showToast(text: string, kind: Toast['kind'] = 'success'): void {
  lastId += 1
  const id = lastId
  set([...toasts, { id, text, kind }].slice(-maxToasts))
  if (kind === 'success') setTimeout(() => dismiss(id), shownMs)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts)
  return (
    <section className="toasts" aria-label={texts.parts.notifications} aria-live="polite">
      {shown.map(({ id, text, kind }) => (
        <div key={id} className={`toast ${kind}`}>
          <span>{text}</span>
          <button type="button" className="button plain" onClick={() => dismiss(id)}>
            {texts.parts.dismiss}
          </button>
        </div>
      ))}
    </section>
  )
}

import { texts } from '../texts.ts'
import { showToast } from './toasts.tsx'

/** Copies a text, and tells whether it worked. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    showToast(texts.parts.copied)
  } catch {
    showToast(texts.parts.copyFailed, 'danger')
  }
}

export function CopyButton({
  text,
  label = texts.parts.copy,
}: {
  readonly text: string
  readonly label?: string
}) {
  return (
    <button type="button" className="button" onClick={() => void copyText(text)}>
      {label}
    </button>
  )
}

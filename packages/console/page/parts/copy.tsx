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

/** Saves a text as a file of the user. It is never in an address. */
export function saveText(name: string, text: string, type = 'text/plain'): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
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

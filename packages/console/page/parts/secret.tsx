import { useState } from 'react'
import { texts } from '../texts.ts'
import { CopyButton } from './copy.tsx'

/** A value that the service shows once. It is not in the page until the user wants to see it. */
export function Secret({ label, value }: { readonly label: string; readonly value: string }) {
  const [isShown, setIsShown] = useState(false)
  return (
    <section className="secret" aria-label={label}>
      <strong>{label}</strong>
      <code>{isShown ? value : '•'.repeat(24)}</code>
      <div className="actions">
        <button type="button" className="button" aria-pressed={isShown} onClick={() => setIsShown(!isShown)}>
          {isShown ? texts.parts.hide : texts.parts.show}
        </button>
        <CopyButton text={value} />
      </div>
      <p className="quiet">{texts.parts.secretOnce}</p>
    </section>
  )
}

import { useCallback, useEffect, useState } from 'react'
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

/** A value that the service shows once. It is in the memory of the room alone, until the room or the page is left. */
export function useShownOnce<Value>(): readonly [Value | undefined, (value: Value | undefined) => void] {
  const [value, setValue] = useState<Value>()
  const show = useCallback((next: Value | undefined) => setValue(() => next), [])
  useEffect(() => {
    // A browser may keep a page that was left, for its back button.
    const forget = (): void => setValue(undefined)
    window.addEventListener('pagehide', forget)
    return () => window.removeEventListener('pagehide', forget)
  }, [])
  return [value, show]
}

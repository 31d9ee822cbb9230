import type { ReactNode } from 'react'

/** With a sign, so that the colour is not the only difference. */
const signs = { good: '●', warning: '▲', danger: '■', neutral: '○' } as const

/** A state in one word. */
export function Status({
  kind,
  children,
}: {
  readonly kind: keyof typeof signs
  readonly children: ReactNode
}) {
  return (
    <span className={`status ${kind}`}>
      <span aria-hidden="true">{signs[kind]}</span> {children}
    </span>
  )
}

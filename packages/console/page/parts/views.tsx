import { Link } from './link.tsx'

/** Links to the views of a room, each with an address of its own. */
export function Views<Name extends string>(props: {
  readonly label: string
  readonly current: Name
  readonly views: readonly { readonly name: Name; readonly title: string; readonly to: string }[]
}) {
  const { label, current, views } = props
  return (
    <nav className="views" aria-label={label}>
      {views.map(({ name, title, to }) => (
        <Link key={name} to={to} className="tab" isCurrent={name === current}>
          {title}
        </Link>
      ))}
    </nav>
  )
}

"""Time slices of jobs by width, on servers of one size: slow, and easy to read."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(eq=False)
class Sharer:
    """A job; times in ticks."""

    id: int
    submit: int
    service: int
    gpus: int
    restart: int
    left: int = 0
    room: Room | None = None
    """Where it runs."""
    has_run: bool = False
    pays: bool = False
    """For a restart, as long as it stays in the room."""
    starts: int = 0
    finish: int | None = None

    def __post_init__(self) -> None:
        """Nothing is done."""
        self.left = self.service

    def is_paying(self, now: int) -> bool:
        """Whether it runs, and pays for a restart."""
        return self.room is not None and self.pays and now <= self.starts


@dataclass(eq=False)
class Room:
    """Whole servers, and the jobs that take turns there."""

    servers: int
    gangs: int
    line: list[Sharer] = field(default_factory=list)

    @property
    def front(self) -> list[Sharer]:
        """Those that run."""
        return self.line[: self.gangs]


class Gandiva:
    """A run of jobs on some servers of so many GPUs."""

    def __init__(self, jobs: list[Sharer], servers: int, gpus: int, slice_ticks: int) -> None:
        self.future, self.pending = list(jobs), list[Sharer]()
        self.num_gpus, self.gpus, self.free = servers * gpus, gpus, servers
        self.slice, self.now = slice_ticks, 0
        self.rooms: dict[int, list[Room]] = {job.gpus: [] for job in jobs}
        self.rooms = dict(sorted(self.rooms.items()))

    def all_rooms(self) -> list[Room]:
        """Return those of all widths."""
        return [room for rooms in self.rooms.values() for room in rooms]

    def run(self) -> None:
        """Run the jobs, by submit; each ends with a ``finish``."""
        running: list[Sharer] = []
        waits = False
        while self.future or self.pending or self.all_rooms():
            instants = [max(self.now, job.starts) + job.left for job in running]
            instants += [job.submit for job in self.future[:1]]
            if waits:
                instants.append((self.now // self.slice + 1) * self.slice)
            before, self.now = self.now, min(instants)
            for job in running:
                job.left -= max(0, self.now - max(before, job.starts))
                if job.left == 0:
                    job.finish = self.now
            self.decide()
            running = [job for room in self.all_rooms() for job in room.front]
            waits = bool(self.pending) or any(len(r.line) > r.gangs for r in self.all_rooms())

    def decide(self) -> None:
        """Let the ended go, share servers and take turns after a slice, and place who came."""
        for rooms in self.rooms.values():
            for room in rooms:
                room.line = [job for job in room.line if job.finish is None]
            rooms.sort(key=lambda room: len(room.line))
        if self.now % self.slice == 0:
            if not any(job.is_paying(self.now) for room in self.all_rooms() for job in room.line):
                self.share()
            for room in self.all_rooms():
                self.take_turns(room)
        for rooms in self.rooms.values():
            for room in [room for room in rooms if not room.line]:
                rooms.remove(room)
                self.free += room.servers
        self.pending += [job for job in self.future if job.submit == self.now]
        self.future = [job for job in self.future if job.submit > self.now]
        self.pending = [job for job in self.pending if not self.place(job)]
        front = {job: room for room in self.all_rooms() for job in room.front}
        for job in [job for room in self.all_rooms() for job in room.line]:
            room = front.get(job)
            if room is not None and room is not job.room:
                job.starts = self.now + (job.restart if job.has_run else 0)
                job.pays = job.has_run and job.restart > 0
                job.has_run = True
            job.room = room

    def share(self) -> None:
        """Give widths servers by the GPUs that their jobs ask for."""
        wanted = {g: g * sum(len(r.line) for r in rooms) for g, rooms in self.rooms.items()}
        everything = sum(wanted.values())
        for gpus, rooms in self.rooms.items():
            if not wanted[gpus]:
                continue
            part = min(wanted[gpus] * self.num_gpus // everything, wanted[gpus])
            more = part - self.gpus * sum(room.servers for room in rooms)
            number = -(-abs(more) // gpus)
            if more > 0:
                new = [room for room in (self.room(gpus) for _ in range(number)) if room]
                rooms += new
                dealt = [job for room in rooms for job in room.line] if new else []
                for room in rooms if new else []:
                    room.line = []
            else:
                gone = rooms[: min(number, len(rooms) - 1)]
                del rooms[: len(gone)]
                self.free += sum(room.servers for room in gone)
                dealt = [job for room in gone for job in room.line]
            for job in dealt:
                self.join(job)

    def take_turns(self, room: Room) -> None:
        """Let those that ran go behind the others, unless they still pay for a restart."""
        if len(room.line) > room.gangs:
            ran, rest = room.front, room.line[room.gangs :]
            pay = [job for job in ran if job.is_paying(self.now)]
            room.line = pay + rest + [job for job in ran if job not in pay]

    def room(self, gpus: int) -> Room | None:
        """Return free servers for a gang or more."""
        servers = -(-gpus // self.gpus)
        if servers > self.free:
            return None
        self.free -= servers
        return Room(servers, servers * self.gpus // gpus)

    def join(self, job: Sharer) -> None:
        """Put the job where the fewest are."""
        rooms = self.rooms[job.gpus]
        rooms[0].line.append(job)
        rooms.sort(key=lambda room: len(room.line))

    def place(self, job: Sharer) -> bool:
        """Put the job into a room that has place but for one gang, or into a new one, or any."""
        rooms = self.rooms[job.gpus]
        if not rooms or len(rooms[0].line) + 1 >= rooms[0].gangs:
            new = self.room(job.gpus)
            if new is not None:
                rooms.insert(0, new)
            elif not rooms:
                return False
        self.join(job)
        return True
